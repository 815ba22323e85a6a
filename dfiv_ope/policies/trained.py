"""The directory of a trained policy: a SavedModel and its record."""

import json
import pathlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
  from dfiv_ope import actions as actions_lib
  from dfiv_ope.policies import acting

RECORD = 'policy.json'
SCHEMA = 1
SAVED_MODEL = 'saved_model'
# Under whose name the record has the hyper-parameters.
ALGORITHMS = ('dqn', 'td3')


def read_record(path: pathlib.Path) -> dict[str, Any]:
  """Reads the record of a trained policy.

  Raises:
    FileNotFoundError: there is no complete policy.
    ValueError: its record is damaged or of another schema version.
  """
  file = path / RECORD
  if not file.is_file():
    raise FileNotFoundError(
      f'{path} holds no trained policy (no {RECORD}). Make one with '
      '`dfiv-ope policy train`.'
    )
  try:
    record = dict(json.loads(file.read_text(encoding='utf-8')))
  except (ValueError, TypeError, RecursionError) as error:
    raise ValueError(
      f'{file} is not the record of a policy ({error}). Train the policy again.'
    ) from error
  if record.get('schema') != SCHEMA:
    raise ValueError(
      f'{file} has schema version {record.get("schema")}, but this program '
      f'reads version {SCHEMA}. Train the policy again.'
    )
  if not isinstance(record.get('task'), str):
    raise ValueError(
      f'{file} does not say which task the policy is for. Train the policy '
      'again.'
    )
  return record


def save(
  policy: 'acting.Policy',
  path: pathlib.Path,
  *,
  num_observations: int,
  actions: 'actions_lib.Continuous | None',
) -> None:
  """Writes the SavedModel of a policy into its directory."""
  from dfiv_ope.policies import acting

  acting.save(
    policy,
    path / SAVED_MODEL,
    num_observations=num_observations,
    actions=actions,
  )


def load(
  path: pathlib.Path,
  *,
  num_observations: int,
  num_actions: int,
  actions: 'actions_lib.Continuous | None' = None,
  trusted: bool = False,
) -> 'acting.Policy':
  """Loads a trained policy and checks that it fits, see `acting.load`."""
  from dfiv_ope.policies import acting

  return acting.load(
    path / SAVED_MODEL,
    num_observations=num_observations,
    num_actions=num_actions,
    actions=actions,
    trusted=trusted,
  )


def card(record: dict[str, Any]) -> list[tuple[str, str]]:
  """Returns what a person wants to know of a policy: names and values."""
  value, uniform = record['value'], record['uniform_value']
  algorithm = next(each for each in ALGORITHMS if each in record)
  return [
    ('task', record['task']),
    ('action noise', f'{record["action_noise"]:g}'),
    ('seed', str(record['seed'])),
    (
      'value',
      f'{value["mean"]:.3f} ± {value["standard_error"]:.3f} '
      f'({value["episodes"]} episodes, discount {record["discount"]:g})',
    ),
    (
      'uniform policy',
      f'{uniform["mean"]:.3f} ± {uniform["standard_error"]:.3f}',
    ),
    (
      'training',
      f'{algorithm.upper()}, '
      f'{record[algorithm]["transitions"]:,} transitions, '
      f'{record["cpu_seconds"]:.0f} CPU s',
    ),
  ]
