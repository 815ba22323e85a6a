"""`dfiv-ope dataset`: makes, imports, shows, checks, serves datasets."""

import dataclasses
import pathlib
import time
from typing import TYPE_CHECKING, Annotated

import typer

from dfiv_ope.launch import (
  checking,
  console,
  importing,
  limits,
  policy,
  runtime,
  workspace,
)
from dfiv_ope.policies import trained

if TYPE_CHECKING:
  import reverb

  from dfiv_ope.datasets import spec as spec_lib

app = typer.Typer(help='Make and inspect offline datasets.',
                  no_args_is_help=True)
app.command('import')(importing.import_log)
app.command('export')(importing.export_log)
app.command()(checking.check)

# Enough for the bars of the evaluation, small enough for a laptop.
TRANSITIONS = {'catch': 20_000, 'mountain_car': 60_000, 'cartpole': 60_000}

# Where `serve` may listen, and how often it looks at what it serves.
_HERE, _EVERYWHERE = '127.0.0.1', '0.0.0.0'
_WATCH_SECONDS = 5.

DatasetPath = Annotated[pathlib.Path, typer.Argument(
    help='Directory of a dataset.', metavar='DATASET')]


@app.command()
def make(
    task: policy.Task,
    out: Annotated[pathlib.Path, typer.Option(help='A new directory.')],
    target: Annotated[pathlib.Path | None, typer.Option(
        '--policy', help='Directory of a policy made by `policy train`. '
        'Without it one is trained first, with the same noise and seed.',
    )] = None,
    action_noise: policy.ActionNoise = 0.2,
    epsilon: Annotated[float, typer.Option(
        help='Extra probability of a uniform action in the logged behaviour.',
    )] = 0.2,
    discount: Annotated[float, typer.Option(
        help='Discount of the value that is asked for.')] = 0.99,
    transitions: Annotated[int | None, typer.Option(
        help='Collect at least as many, in whole episodes. Without it 20000 '
        'for catch, 60000 for the others.')] = None,
    truth_episodes: Annotated[int, typer.Option(
        help='Simulate at most as many episodes for the true value.', min=2,
    )] = 40_000,
    seed: policy.Seed = 0,
    settings: policy.Set = None,
) -> None:
  """Make an offline dataset: policy, noisy environment, log, true value.

  The log comes from the target policy with extra random actions. Beside it
  are stored the policy and its true value by simulation. A killed run goes on
  when the same command is given again.
  """
  if target is not None and settings:
    raise ValueError('--set changes the training of a policy, so it cannot go '
                     'with --policy.')
  if transitions is not None:
    limits.count('--transitions', transitions, most=limits.TRANSITIONS)
  limits.count(
      '--truth-episodes', truth_episodes, least=2, most=limits.TRUTH_EPISODES)
  limits.count('--seed', seed, least=0, most=limits.SEED)
  config = policy.configure(task, action_noise, settings)
  from dfiv_ope.datasets import spec as spec_lib
  spec = spec_lib.Spec(
      task=task, action_noise=action_noise, epsilon=epsilon,
      discount=discount, seed=seed,
      transitions=TRANSITIONS[task] if transitions is None else transitions)
  if target is not None:
    origin = trained.read_record(target)
  else:
    from dfiv_ope.agents import training
    origin = training.request(task, action_noise, seed, config)
  with workspace.building(
      out, record=spec_lib.METADATA,
      request={'spec': dataclasses.asdict(spec), 'policy': origin}):
    policy_path = out / 'trained'
    if target is None and not (policy_path / trained.RECORD).exists():
      policy.train_into(
          policy_path, task=task, action_noise=action_noise, seed=seed,
          config=config)
    make_into(
        out, spec=spec, policy_path=target or policy_path,
        truth_episodes=truth_episodes, intermediate=policy_path)
  show(out)


def make_into(
    out: pathlib.Path, *, spec: 'spec_lib.Spec', policy_path: pathlib.Path,
    truth_episodes: int, intermediate: pathlib.Path | None = None) -> None:
  """Makes a dataset of a policy of a task, with progress bars."""
  from dfiv_ope import envs
  from dfiv_ope.datasets import making
  metadata, seconds = making.make(
      out, spec=spec, policy_path=policy_path, truth_episodes=truth_episodes,
      make_environment=envs.maker(spec.task, action_noise=spec.action_noise),
      intermediate=intermediate, progress=console.progress)
  console.note(
      f'Collected and wrote {metadata.transitions:,} transitions in '
      f'{seconds:.1f} CPU s, {metadata.transitions / seconds:,.0f} a second.')


@app.command()
def show(
    path: DatasetPath,
    as_json: Annotated[bool, typer.Option(
        '--json', help='Print the whole record as JSON.')] = False,
) -> None:
  """Show what a dataset holds."""
  from dfiv_ope.datasets import spec as spec_lib
  from dfiv_ope.launch import dataset_card
  if as_json:
    console.say_json(spec_lib.read_metadata(path).to_json())
  else:
    dataset_card.show(path)


@app.command()
def serve(
    path: DatasetPath,
    port: Annotated[int, typer.Option(
        help='Port to listen on.', min=1, max=65535)] = 8000,
    host: Annotated[str, typer.Option(
        help=f'{_HERE}: only this machine may connect; {_EVERYWHERE}: whoever '
        'reaches the port may.')] = _HERE,
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
        'singled out.')
  runtime.start()
  from dfiv_ope.datasets import reading, serving
  dataset = reading.open_dataset(path)
  metadata = dataset.metadata
  with console.progress('Restoring'):
    if not serving.same_checkpoint(dataset):
      raise ValueError(
          f'The Reverb checkpoint of {path} does not hold the rows of its '
          'arrays. Make the dataset again.')
    del dataset
    serving.probe(path, num_observations=metadata.num_observations)
    server = serving.restore(
        path, port=port, num_observations=metadata.num_observations,
        everywhere=host == _EVERYWHERE)
  console.note(
      f'Serving {metadata.spec.id} on port {server.port} of '
      + ('all interfaces' if host == _EVERYWHERE else 'this machine only')
      + '. Reverb has no authentication. Stop with Ctrl-C.')
  try:
    _watch(server)
  finally:
    server.stop()


def _watch(
    server: 'reverb.Server', *, seconds: float = _WATCH_SECONDS) -> None:
  """Looks at the tables of a server until a client has changed one.

  Raises:
    ValueError: a table has other items than at first.
  """
  client = server.localhost_client()

  def state() -> dict[str, tuple[int, int]]:
    return {name: (info.current_size,
                   info.rate_limiter_info.insert_stats.completed)
            for name, info in client.server_info().items()}

  expected = state()
  while True:
    time.sleep(seconds)
    found = state()
    for name, (size, _) in expected.items():
      if found.get(name) != expected[name]:
        raise ValueError(
            f'A client has changed the served table {name}: it had {size:,} '
            f'blocks and has {found.get(name, (0, 0))[0]:,}, so nobody is '
            'served any more. The files of the dataset are untouched. Serve '
            'it again, to clients that only read.')
