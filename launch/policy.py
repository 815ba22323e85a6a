"""`dfiv-ope policy`: trains the policies that datasets are about."""

import pathlib
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dfiv_ope.launch import console, limits, overrides, runtime, workspace
from dfiv_ope.policies import trained

if TYPE_CHECKING:
  from dfiv_ope.agents import dqn

app = typer.Typer(help='Train target policies.', no_args_is_help=True)

Task = Annotated[str, typer.Argument(
    help='catch, mountain_car or cartpole.', metavar='TASK')]
ActionNoise = Annotated[float, typer.Option(
    help='Probability that the environment replaces an action by a uniform '
    'one.')]
Seed = Annotated[int, typer.Option(help='Same seed, same result.', min=0)]
Set = Annotated[list[str] | None, typer.Option(
    '--set', help='Changes a hyper-parameter of DQN, as name=value; '
    'repeatable.', metavar='NAME=VALUE')]


@app.command()
def train(
    task: Task,
    out: Annotated[pathlib.Path, typer.Option(help='A new directory.')],
    action_noise: ActionNoise = 0.2,
    seed: Seed = 0,
    settings: Set = None,
) -> None:
  """Train a DQN policy and save it as a SavedModel.

  A killed run goes on from its last checkpoint when the same command is given
  again, and ends with the same policy.
  """
  limits.count('--seed', seed, least=0, most=limits.SEED)
  config = configure(task, action_noise, settings)
  from dfiv_ope.agents import training
  with workspace.building(
      out, record=trained.RECORD,
      request=training.request(task, action_noise, seed, config)):
    train_into(
        out, task=task, action_noise=action_noise, seed=seed, config=config)
  console.card(f'Policy {out}', card_rows(trained.read_record(out)))


def configure(
    task: str, action_noise: float, settings: list[str] | None
) -> 'dqn.Config':
  """Returns the hyper-parameters of a task after a user's changes.

  Raises:
    ValueError: the task, the noise, or a change is not valid.
  """
  from dfiv_ope import envs
  envs.make(task, action_noise=action_noise, seed=0)  # refuses what is wrong
  runtime.start()
  from dfiv_ope.agents import dqn
  return overrides.apply(dqn.TUNED[task], settings or [])


def train_into(
    out: pathlib.Path, *, task: str, action_noise: float, seed: int,
    config: 'dqn.Config') -> None:
  """Trains a policy of a task and writes it down, with progress bars."""
  from dfiv_ope import envs
  from dfiv_ope.agents import training
  training.write(
      out, make_environment=envs.maker(task, action_noise=action_noise),
      task=task, action_noise=action_noise, seed=seed, config=config,
      progress=console.progress)


def card_rows(record: dict[str, Any]) -> list[tuple[str, str]]:
  """Returns what a person wants to know of a policy."""
  value, uniform = record['value'], record['uniform_value']
  return [
      ('task', record['task']),
      ('action noise', f'{record["action_noise"]:g}'),
      ('seed', str(record['seed'])),
      ('value', f'{value["mean"]:.3f} ± {value["standard_error"]:.3f} '
       f'({value["episodes"]} episodes, discount {record["discount"]:g})'),
      ('uniform policy', f'{uniform["mean"]:.3f} ± '
       f'{uniform["standard_error"]:.3f}'),
      ('training', f'{record["dqn"]["transitions"]:,} transitions, '
       f'{record["cpu_seconds"]:.0f} CPU s'),
  ]
