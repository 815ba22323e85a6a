"""`--set` changes fields, and refuses what does not fit them."""

import dataclasses

import numpy as np
import pytest

from dfiv_ope import agents, overrides


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Config:
  steps: int = 1
  rate: float = 0.1
  sizes: tuple[int, ...] = (8,)
  batch: int | None = 5
  name: str = 'a'
  joint: bool = False


@pytest.mark.parametrize(
  'setting, field, value',
  [
    ('steps=3', 'steps', 3),
    ('rate=2', 'rate', 2.0),
    ('rate=1e-3', 'rate', 1e-3),
    ('sizes=(4, 2)', 'sizes', (4, 2)),
    ('batch=None', 'batch', None),
    ('batch=7', 'batch', 7),
    ('name=b', 'name', 'b'),
    ('joint=True', 'joint', True),
  ],
)
def test_a_value_takes_the_type_of_its_field(setting, field, value):
  changed = overrides.apply(_Config(), [setting])
  assert changed == dataclasses.replace(_Config(), **{field: value})
  assert type(getattr(changed, field)) is type(value)


@pytest.mark.parametrize(
  'setting, message',
  [
    ('steps', 'form name=value'),
    ('colour=red', "no setting 'colour'. Choose from batch, joint, name"),
    ('steps=1.5', "steps is of type int .now 1., got '1.5'"),
    ('steps=None', 'steps is of type int'),
    ('batch=many', 'batch is of type int or NoneType'),
    ('joint=1', 'joint is of type bool'),
    ('sizes=("a",)', r'sizes is of type tuple of int .now \(8,\)., got'),
    ('sizes=(4, True)', 'sizes is of type tuple of int'),
    ('sizes=((4,),)', 'sizes is of type tuple of int'),
    ('sizes=' + '(' * 5_000, 'sizes is of type tuple of int'),
    ('sizes=(4, 10**400)', 'sizes is of type tuple of int'),
    ('sizes=(4, 10000000000)', r'sizes must lie within -1e\+09 and 1e\+09'),
    ('steps=' + '9' * 900, 'steps must lie within'),
    ('rate=1e999', r'rate must lie within -1e\+09 and 1e\+09, got .1e999'),
    ('rate=' + '9' * 900, 'rate must lie within'),
    ('rate=nan', 'rate is of type float'),
    ('steps=', "got ''"),
  ],
)
def test_what_does_not_fit_is_refused(setting, message):
  with pytest.raises(ValueError, match=message):
    overrides.apply(_Config(), [setting])


def test_entries_of_a_tuple_take_its_type():
  @dataclasses.dataclass(frozen=True, kw_only=True)
  class Config:
    rates: tuple[float, ...] = (0.1,)

  changed = overrides.apply(Config(), ['rates=(1, 0.5)'])
  assert changed.rates == (1.0, 0.5)
  assert type(changed.rates[0]) is float


def test_values_of_python_take_the_type_of_their_field():
  @dataclasses.dataclass(frozen=True, kw_only=True)
  class Config:
    rates: tuple[float, ...] = (0.1,)
    count: int = 1

  found = overrides.replaced(Config(), {'rates': [1, 0.5], 'count': np.int8(3)})
  assert found == Config(rates=(1.0, 0.5), count=3)
  assert type(found.count) is int
  with pytest.raises(
    ValueError, match=r'count is of type int \(now 1\), got 1.5'
  ):
    overrides.replaced(Config(), {'count': 1.5})


def test_a_setting_that_comes_twice_is_refused():
  with pytest.raises(ValueError, match='rate is set twice'):
    overrides.apply(_Config(), ['rate=1', 'rate=2'])


@pytest.mark.parametrize('name', ['updates', 'batch_size', 'checks'])
@pytest.mark.parametrize('method', ['lstd', 'kiv'])
def test_settings_of_a_training_mean_nothing_to_a_closed_form(method, name):
  config = agents.load(method).CONFIGS['default']
  with pytest.raises(ValueError, match=f'{name} means nothing here.*random_fe'):
    overrides.apply(config, [f'{name}=1'])
  assert (
    overrides.apply(
      agents.load('fqe').CONFIGS['default'], ['updates=50']
    ).updates
    == 50
  )


def test_nothing_set_changes_nothing():
  assert overrides.apply(_Config(), []) == _Config()


_KNOWN = ('lstd', 'kiv')


@pytest.mark.parametrize(
  'wanted, settings, found',
  [
    (['kiv', 'kiv'], (), [('kiv', ())]),
    (['all', 'lstd'], (), [('lstd', ()), ('kiv', ())]),
    (
      ['lstd', 'lstd:penalty=1e-4'],
      (),
      [('lstd', ()), ('lstd', ('penalty=1e-4',))],
    ),
    (
      ['kiv:sizes=(4, 2),rate=1,name=b'],
      (),
      [('kiv', ('sizes=(4, 2)', 'rate=1', 'name=b'))],
    ),
    (['lstd:rate=1'], ['rate=2'], [('lstd', ('rate=1', 'rate=2'))]),
  ],
)
def test_methods_come_once_with_their_settings(wanted, settings, found):
  assert overrides.methods(wanted, _KNOWN, settings) == found


@pytest.mark.parametrize(
  'wanted, settings, message',
  [
    (['ols'], (), "no method 'ols'. Choose from lstd, kiv, all"),
    (['all:rate=1'], (), "no method 'all'"),
    (['lstd:'], (), "'lstd:' ends where settings should be"),
    (['all'], ['rate=1'], '--method lstd:rate=1'),
  ],
)
def test_methods_that_cannot_be_are_refused(wanted, settings, message):
  with pytest.raises(ValueError, match=message):
    overrides.methods(wanted, _KNOWN, settings)
