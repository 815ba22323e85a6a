"""`dfiv-ope policy`: trains the policies that datasets are about."""

import dataclasses
import json
import pathlib
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dfiv_ope.launch import console, limits, overrides, runtime, workspace
from dfiv_ope.policies import trained

if TYPE_CHECKING:
  from dfiv_ope.agents import dqn

app = typer.Typer(help='Train target policies.', no_args_is_help=True)

# A trained policy, and the uniform one beside it, are tried in a thousand
# episodes, and in more, up to this number, where returns are noisy.
_TRIAL_EPISODES = 10_000
_DISCOUNT = 0.99

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
  with workspace.building(
      out, record=trained.RECORD,
      request=request(task, action_noise, seed, config)):
    runtime.start()
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


def request(
    task: str, action_noise: float, seed: int, config: 'dqn.Config'
) -> dict[str, Any]:
  """Returns what identifies a training job."""
  return {
      'task': task, 'action_noise': action_noise, 'seed': seed,
      'dqn': dataclasses.asdict(config)}


def train_into(
    out: pathlib.Path, *, task: str, action_noise: float, seed: int,
    config: 'dqn.Config') -> None:
  """Trains a policy, tries it in the environment and writes both down."""
  from dfiv_ope import envs, versions
  from dfiv_ope.agents import training
  from dfiv_ope.policies import finite, rollout, simulation

  started = time.process_time()
  make_environment = envs.maker(task, action_noise=action_noise)
  checkpoints = out / 'training'
  with console.progress(f'Training on {task}', config.transitions) as update:
    policy = training.train(
        make_environment, config, seed=seed, directory=checkpoints,
        progress=lambda p: update(
            p.transitions, f'return so far {p.mean_return:.1f}'))
  cpu_seconds = time.process_time() - started

  environment = make_environment(0)
  (num_observations,) = environment.observation_spec().shape
  uniform = finite.Uniform(num_actions=environment.action_spec().num_values)
  trials = {}
  for name, title, candidate in (
      ('value', 'Simulating the policy', policy),
      ('uniform_value', 'Simulating uniform actions', uniform)):
    with console.progress(title) as update:
      trials[name] = dataclasses.asdict(simulation.monte_carlo(
          make_environment, candidate, discount=_DISCOUNT,
          seed=rollout.stream(seed, 'trial'),
          max_episodes=_TRIAL_EPISODES,
          progress=lambda n: update(n, f'{n:,} episodes')))
  finite.save(
      policy, out / trained.SAVED_MODEL, num_observations=num_observations)
  record = {
      'schema': trained.SCHEMA,
      **request(task, action_noise, seed, config),
      'discount': _DISCOUNT, **trials,
      'cpu_seconds': round(cpu_seconds, 1),
      'versions': versions.versions()}
  workspace.remove(checkpoints)
  workspace.write_record(
      out / trained.RECORD, json.dumps(record, indent=2) + '\n')


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
