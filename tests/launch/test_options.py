"""Options that commands share: their names, bounds and sentences."""

import inspect
import typing

import pytest
import typer
from typer import testing

from dfiv_ope.launch import log_options, once, options

_TYPES = {
  'out': options.Out,
  'method': options.Methods,
  'seeds': options.Seeds,
  'config': options.Preset,
  'settings': options.Settings,
  'policy': options.Policies,
  'trust': options.TrustPolicy,
  'workers': options.Workers,
  'ray': options.Ray,
  'dry_run': options.DryRun,
  'as_json': options.Json,
  'level': options.Level,
}


def _run(*arguments):
  """Runs a command that has them all; returns what it got."""
  given = {}
  app = typer.Typer()

  @app.command()
  def command(
    out: options.Out,
    method: options.Methods = None,
    seeds: options.Seeds = 3,
    config: options.Preset = 'default',
    settings: options.Settings = None,
    policy: options.Policies = None,
    trust: options.TrustPolicy = False,
    workers: options.Workers = None,
    ray: options.Ray = None,
    dry_run: options.DryRun = False,
    as_json: options.Json = False,
    level: options.Level = 0.95,
  ) -> None:
    given.update(locals())

  result = testing.CliRunner().invoke(
    app, ['--out', 'runs', *arguments], catch_exceptions=False
  )
  assert result.exit_code == 0, result.output
  return given


def test_without_options_the_defaults_stand():
  given = _run()
  assert str(given['out']) == 'runs'
  assert (given['seeds'], given['config'], given['level']) == (
    3,
    'default',
    0.95,
  )
  assert given['workers'] is None and given['ray'] is None
  assert not given['method'] and not given['policy'] and not given['settings']


def test_methods_stand_together_with_commas_or_alone():
  given = _run('--method', 'lstd, kiv', '--method', 'fqe:updates=5,checks=1')
  assert given['method'] == ['lstd', 'kiv', 'fqe:updates=5,checks=1']


def test_options_are_named_as_users_know_them():
  given = _run(
    '--method',
    'lstd',
    '--method',
    'kiv',
    '--seeds',
    '5',
    '--config',
    'paper',
    '--set',
    'a=1',
    '--set',
    'b=2',
    '--policy',
    'uniform',
    '--policy',
    'mine=models/mine',
    '--trust-policy',
    '--workers',
    '2',
    '--ray',
    'head:6379',
    '--dry-run',
    '--json',
    '--level',
    '0.9',
  )
  assert {name: given[name] for name in _TYPES if name != 'out'} == {
    'method': ['lstd', 'kiv'],
    'seeds': 5,
    'config': 'paper',
    'settings': ['a=1', 'b=2'],
    'policy': ['uniform', 'mine=models/mine'],
    'trust': True,
    'workers': 2,
    'ray': 'head:6379',
    'dry_run': True,
    'as_json': True,
    'level': 0.9,
  }
  assert _run('--interval', '0.5')['level'] == 0.5


@pytest.mark.parametrize(
  'arguments, words',
  [
    (('--workers', '0'), '--workers must be at least 1, got 0.'),
    (('--workers', '2000'), '--workers must be at most 1,024, got 2,000.'),
    (('--seeds', '0'), '--seeds must be at least 1, got 0.'),
    (('--seeds', '10001'), '--seeds must be at most 10,000, got 10,001.'),
    (('--level', '1'), '--level must lie in (0, 1), got 1.'),
    (('--level', 'nan'), '--level must lie in (0, 1), got nan.'),
    (
      ('--config', 'papr'),
      "There is no config 'papr': did you mean paper? "
      'Choose from default, paper.',
    ),
  ],
)
def test_values_out_of_bounds_are_refused_with_a_sentence(arguments, words):
  with pytest.raises(ValueError) as refused:
    _run(*arguments)
  assert str(refused.value) == words


_GROUPS = (options.Running, options.Sweeping, log_options.OfLog)
_EVERY = {
  **vars(options),
  **{
    f'{group.__name__}.{name}': kind
    for group in _GROUPS
    for name, kind in group.__annotations__.items()
  },
}


def test_a_group_stands_for_its_options_where_it_stands():
  given = {}
  app = typer.Typer()

  @app.command()
  def command(
    out: options.Out,
    running: options.Running = options.RUNNING,
    seeds: options.Seeds = 3,
  ) -> None:
    given.update(locals())

  once.require(app)
  (registered,) = app.registered_commands
  assert list(inspect.signature(registered.callback).parameters) == [
    'out',
    'workers',
    'ray',
    'as_json',
    'seeds',
    'quiet',
  ]
  result = testing.CliRunner().invoke(
    app, ['--out', 'runs', '--workers', '2', '--json'], catch_exceptions=False
  )
  assert result.exit_code == 0, result.output
  assert given['seeds'] == 3
  assert given['running'] == options.Running(workers=2, as_json=True)
  with pytest.raises(ValueError, match='--workers was given 2 times'):
    testing.CliRunner().invoke(
      app,
      ['--out', 'runs', '--workers', '2', '--workers', '3'],
      catch_exceptions=False,
    )


def test_what_is_not_said_of_a_log_is_left_out():
  assert log_options.OF_LOG.given == {}
  assert log_options.OfLog(
    continuous=False, horizon=0, ends='truncated'
  ).given == {'horizon': 0, 'ends': 'truncated'}


@pytest.mark.parametrize(
  'name',
  [
    name
    for name, value in _EVERY.items()
    if typing.get_origin(value) is typing.Annotated
  ],
)
def test_every_option_is_explained_in_a_sentence(name):
  info = typing.get_args(_EVERY[name])[1]
  assert len(info.help.split()) > 2, name
  assert info.help.endswith('.'), name
