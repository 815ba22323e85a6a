"""What a person wants to know of a dataset, from its record."""

import pathlib

import numpy as np

from dfiv_ope.datasets import action_summary, reading
from dfiv_ope.datasets import spec as spec_lib


def of(path: pathlib.Path) -> list[tuple[str, str]]:
  """Returns the lines of the card of a dataset's directory."""
  metadata = spec_lib.read_metadata(path)
  return rows(metadata, reading.vectors(path, metadata))


def rows(
  metadata: spec_lib.Metadata, vectors: np.ndarray | None = None
) -> list[tuple[str, str]]:
  """Returns the lines of a dataset's card: names and values.

  Args:
    metadata: the record.
    vectors: the logged actions where they are vectors, `reading.vectors`; for
      the range of their entries, which the record has not.
  """
  spec, truth, log = metadata.spec, metadata.truth, metadata.behaviour
  entries = f'{metadata.num_observations} observation entries, ' + (
    f'{metadata.action_entries} action entries'
    if metadata.continuous
    else f'{metadata.num_actions} actions'
  )
  naive = (
    f'{log.mean:.4f} ± {log.standard_error:.4f} (discount {spec.discount:g}'
  )
  if isinstance(spec, spec_lib.Log):
    origin = [
      ('log', f'{spec.source} ({spec.format}; {entries})'),
      *(
        []
        if metadata.continuous
        else [('actions', ', '.join(metadata.action_labels[:20]) or 'numbers')]
      ),
      *(
        [
          (
            'categorical',
            ', '.join(
              f'{name} ({len(labels):,} categories)'
              for name, labels in metadata.categorical.items()
            ),
          )
        ]
        if metadata.categorical
        else []
      ),
      ('further columns', ', '.join(metadata.annotations[:20]) or 'none'),
    ]
  else:
    origin = [
      ('task', f'{spec.task} ({entries})'),
      ('action noise', f'{spec.action_noise:g} (by the environment)'),
      ('epsilon', f'{spec.epsilon:g} (extra random actions in the log)'),
      ('seed', str(spec.seed)),
    ]
  if metadata.continuous:
    seen = action_summary.Ranges(metadata.continuous)
    if vectors is not None:
      seen.add(vectors)
    origin += seen.rows()
  if truth is not None:
    gap = abs(log.mean - truth.mean) / abs(truth.mean)
    naive += f', {100 * gap:.1f} % from the true value'
    origin.append(
      (
        'true value',
        f'{truth.mean:.4f} ± {truth.standard_error:.4f} '
        f'({truth.episodes:,} simulated episodes)',
      )
    )
  return [
    ('id', spec.id),
    *origin,
    ('return of the log', f'{naive})'),
    (
      'size',
      f'{metadata.transitions:,} transitions in '
      f'{metadata.episodes:,} episodes, {metadata.truncated:,} truncated',
    ),
    ('digest', metadata.digest),
    (
      'versions',
      ', '.join(
        f'{name} {version}' for name, version in metadata.versions.items()
      ),
    ),
  ]
