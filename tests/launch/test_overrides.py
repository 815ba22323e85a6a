"""`--set` changes fields, and refuses what does not fit them."""

import dataclasses

import pytest

from dfiv_ope.launch import overrides


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Config:
  steps: int = 1
  rate: float = 0.1
  sizes: tuple[int, ...] = (8,)
  batch: int | None = 5
  name: str = 'a'
  joint: bool = False


@pytest.mark.parametrize('setting, field, value', [
    ('steps=3', 'steps', 3),
    ('rate=2', 'rate', 2.),
    ('rate=1e-3', 'rate', 1e-3),
    ('sizes=(4, 2)', 'sizes', (4, 2)),
    ('batch=None', 'batch', None),
    ('batch=7', 'batch', 7),
    ('name=b', 'name', 'b'),
    ('joint=True', 'joint', True)])
def test_a_value_takes_the_type_of_its_field(setting, field, value):
  changed = overrides.apply(_Config(), [setting])
  assert changed == dataclasses.replace(_Config(), **{field: value})
  assert type(getattr(changed, field)) is type(value)


@pytest.mark.parametrize('setting, message', [
    ('steps', 'form name=value'),
    ('colour=red', 'The settings are: batch, joint, name'),
    ('steps=1.5', "steps is of type int .now 1., got '1.5'"),
    ('steps=None', 'steps is of type int'),
    ('batch=many', 'batch is of type int or NoneType'),
    ('joint=1', 'joint is of type bool')])
def test_what_does_not_fit_is_refused(setting, message):
  with pytest.raises(ValueError, match=message):
    overrides.apply(_Config(), [setting])


def test_nothing_set_changes_nothing():
  assert overrides.apply(_Config(), []) == _Config()


_KNOWN = ('lstd', 'kiv')


@pytest.mark.parametrize('wanted, settings, found', [
    (['kiv', 'kiv'], (), [('kiv', ())]),
    (['all', 'lstd'], (), [('lstd', ()), ('kiv', ())]),
    (['lstd', 'lstd:penalty=1e-4'], (),
     [('lstd', ()), ('lstd', ('penalty=1e-4',))]),
    (['kiv:sizes=(4, 2),rate=1,name=b'], (),
     [('kiv', ('sizes=(4, 2)', 'rate=1', 'name=b'))]),
    (['lstd:rate=1'], ['rate=2'], [('lstd', ('rate=1', 'rate=2'))])])
def test_methods_come_once_with_their_settings(wanted, settings, found):
  assert overrides.methods(wanted, _KNOWN, settings) == found


@pytest.mark.parametrize('wanted, settings, message', [
    (['ols'], (), "no method 'ols'. Choose from lstd, kiv, all"),
    (['all:rate=1'], (), "no method 'all'"),
    (['lstd:'], (), "'lstd:' ends where settings should be"),
    (['all'], ['rate=1'], '--method lstd:rate=1')])
def test_methods_that_cannot_be_are_refused(wanted, settings, message):
  with pytest.raises(ValueError, match=message):
    overrides.methods(wanted, _KNOWN, settings)
