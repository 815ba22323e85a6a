"""`dfiv-ope dataset check`: what a log holds, and whether it is sound."""

import pathlib
from typing import Annotated, Any

import typer

from dfiv_ope.launch import console, importing, runtime


def check(
    path: Annotated[pathlib.Path, typer.Argument(
        help='Directory of a dataset, or a log to be imported.')],
    policy: Annotated[str | None, typer.Option(
        help='Also say how far a dataset overlaps with this policy, as '
             '`evaluate` takes it.')] = None,
    format_name: importing.Format = None,
    mapping: importing.Mapping = None,
    assignments: importing.Map = None,
    actions: importing.Actions = None,
    ends: importing.Ends = None,
    categorical: importing.Categorical = None,
) -> None:
  """Say what a dataset or a log holds, and whether it is sound.

  A dataset is read back and its files, digest and rows verified. Of a log,
  everything that `import` would refuse is listed with its row; it takes the
  same options. Exit code 0 if all is well, 2 if not.
  """
  runtime.start()
  options: dict[str, Any] = {
      'format_name': format_name, 'mapping': mapping,
      'assignments': assignments, 'actions': actions, 'ends': ends,
      'categorical': categorical}
  if importing.is_log(path):
    if policy is not None:
      raise ValueError(
          f'{path} is a log. Import it first; a policy is compared with a '
          'dataset.')
    importing.check_log(path, importing.open_log(path, **options))
    return
  if any(value is not None for value in options.values()):
    raise ValueError(
        f'{path} is a dataset, whose columns are known. The options are for '
        'logs.')
  _check_dataset(path)
  if policy is not None:
    _check_policy(path, policy)


def _check_dataset(path: pathlib.Path) -> None:
  from dfiv_ope.datasets import checks, reading
  with console.progress('Reading'):
    dataset = reading.open_dataset(path)
    found = checks.problems(dataset)
  metadata = dataset.metadata
  if found:
    raise ValueError(f'{path} is not sound. ' + ' '.join(found))
  console.card(f'Dataset {path}', checks.summarise(dataset).rows())
  for note in checks.column_profile(dataset).sentences():
    console.say(note)
  console.say(
      f'{path} is sound: {metadata.transitions:,} transitions in '
      f'{metadata.episodes:,} episodes, digest {metadata.digest[:12]}..., '
      f'{len(metadata.files)} files as written.')


def _check_policy(path: pathlib.Path, policy: str) -> None:
  """Says how far the log tells what the policy would do."""
  from dfiv_ope.launch import questions
  from dfiv_ope.ope import overlap
  with console.progress('Comparing the policy with the log'):
    question = questions.Question(
        path, target_epsilon=0., out=path, policy=policy)
    influence = question.evaluator.influence()
    share, features = influence.effective_share, influence.features
  description = question.description
  found = description['overlap']
  weights, coverage = found['weights'], found['coverage']
  rows = [
      ('policy', description['policy']),
      ('logged actions it takes', f'{100 * found["agreement"]:.1f} %'),
      ('decisions with near neighbours', f'{100 * coverage["share"]:.1f} %'),
      ('effective sample size of rows', f'{100 * share:.1f} %')]
  if weights:
    rows.append((
        'effective size',
        f'{weights["effective_steps"]:,.0f} of {found["steps"]:,} steps, '
        f'{weights["effective_episodes"]:,.1f} of '
        f'{description["episodes"]:,} episodes'
        + (' (with estimated probabilities)' if weights['estimated'] else '')))
  console.card('Overlap', rows)
  for words in (
      overlap.verdict(overlap.worst(
          found['grade'], overlap.share_grade(share))),
      overlap.share_words(
          share, features=features.random_features,
          bandwidth_scale=features.bandwidth_scale, reduced=features.reduced,
          cells=influence.cells),
      *found['warnings']):
    console.say(words)
