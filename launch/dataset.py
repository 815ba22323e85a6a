"""`dfiv-ope dataset`: makes, imports, shows, checks, serves datasets."""

import dataclasses
import pathlib
from typing import Annotated

import typer

from dfiv_ope import atomic_output, envs, limits
from dfiv_ope.datasets import finding
from dfiv_ope.launch import console, options, runtime
from dfiv_ope.policies import trained

# Where `serve` may listen.
_HERE, _EVERYWHERE = '127.0.0.1', '0.0.0.0'


def make(
  task: options.Task,
  out: Annotated[pathlib.Path, typer.Option(help='A new directory.')],
  target: Annotated[
    pathlib.Path | None,
    typer.Option(
      '--policy',
      help='Directory of a policy made by `policy train`. '
      'Without it one is trained first, with the same noise and seed.',
    ),
  ] = None,
  action_noise: options.ActionNoise = 0.2,
  epsilon: Annotated[
    float,
    typer.Option(
      help='Extra probability of a uniform action in the logged behaviour; '
      'of actions that are vectors, standard deviation of the Gaussian noise '
      'that it adds, as a part of half the range of the bounds.'
    ),
  ] = 0.2,
  discount: Annotated[
    float, typer.Option(help='Discount of the value that is asked for.')
  ] = 0.99,
  transitions: Annotated[
    int | None,
    typer.Option(
      help='Collect at least as many, in whole episodes. Without it 20000 '
      'for catch, 60000 for the other two of bsuite, 50000 for gym and your '
      'own, 100000 for control.'
    ),
  ] = None,
  truth_episodes: Annotated[
    int,
    typer.Option(
      help='Simulate at most as many episodes for the true value.', min=2
    ),
  ] = 40_000,
  seed: options.Seed = 0,
  settings: options.PolicySettings = None,
) -> None:
  """Make an offline dataset: policy, noisy environment, log, true value.

  The log comes from the target policy with extra noise. Beside it
  are stored the policy and its true value by simulation. A killed run goes on
  when the same command is given again.
  """
  if target is not None and settings:
    raise ValueError(
      '--set changes the training of a policy, so it cannot go with --policy.'
    )
  if transitions is not None:
    limits.count('--transitions', transitions, most=limits.TRANSITIONS)
  limits.count(
    '--truth-episodes', truth_episodes, least=2, most=limits.TRUTH_EPISODES
  )
  wanted = options.training(task, action_noise, seed, settings)
  runtime.start()
  from dfiv_ope.agents import training
  from dfiv_ope.datasets import making
  from dfiv_ope.datasets import spec as spec_lib

  spec = spec_lib.Spec(
    task=task,
    action_noise=action_noise,
    epsilon=epsilon,
    discount=discount,
    seed=seed,
    transitions=(
      spec_lib.usual_transitions(task) if transitions is None else transitions
    ),
  )
  origin = trained.read_record(target) if target else wanted.request
  make_environment = envs.maker(task, action_noise=action_noise)
  with atomic_output.building(
    out,
    record=spec_lib.METADATA,
    request={'spec': dataclasses.asdict(spec), 'policy': origin},
  ):
    policy_path = out / 'trained'
    if target is None and not (policy_path / trained.RECORD).exists():
      training.write(
        policy_path,
        wanted,
        make_environment=make_environment,
        progress=console.progress,
      )
    metadata, seconds = making.make(
      out,
      spec=spec,
      policy_path=target or policy_path,
      truth_episodes=truth_episodes,
      intermediate=policy_path,
      make_environment=make_environment,
      progress=console.progress,
    )
    console.note(
      f'Collected and wrote {metadata.transitions:,} transitions in '
      f'{seconds:.1f} CPU s, {metadata.transitions / seconds:,.0f} a second.'
    )
  show(out)


def show(path: options.Dataset, as_json: options.Json = False) -> None:
  """Show what a dataset holds."""
  finding.require(path)
  from dfiv_ope.datasets import card
  from dfiv_ope.datasets import spec as spec_lib

  if as_json:
    console.say_json(spec_lib.read_metadata(path).to_json())
  else:
    console.card(f'Dataset {path}', card.of(path))


def serve(
  path: options.Dataset,
  port: Annotated[
    int, typer.Option(help='Port to listen on.', min=1, max=65535)
  ] = 8000,
  host: Annotated[
    str,
    typer.Option(
      help=f'{_HERE}: only this machine may connect; {_EVERYWHERE}: whoever '
      'reaches the port may.'
    ),
  ] = _HERE,
) -> None:
  """Serve a dataset to learners in other processes, until Ctrl-C.

  WARNING: Reverb has no authentication: whoever reaches the port can read the
  data, and also delete or change what is served (never the files). So only
  this machine may connect unless --host 0.0.0.0 says otherwise; say it only
  inside a network you trust. The tables are looked at every few seconds: if a
  client has changed them, the command ends.
  """
  if host not in (_HERE, _EVERYWHERE):
    raise ValueError(
      f'--host must be {_HERE} or {_EVERYWHERE}, got {host!r}: Reverb '
      'listens on all interfaces, and only the loopback interface can be '
      'singled out.'
    )
  finding.require(path)
  runtime.start()
  from dfiv_ope.datasets import serving

  with console.progress('Restoring'):
    server, name = serving.serve(
      path, port=port, everywhere=host == _EVERYWHERE
    )
  console.note(
    f'Serving {name} on port {server.port} of '
    + ('all interfaces' if host == _EVERYWHERE else 'this machine only')
    + '. Reverb has no authentication. Stop with Ctrl-C.'
  )
  try:
    serving.watch(server)
  finally:
    server.stop()
