"""What a sweep is asked for, from options or from a YAML file."""

import pytest

from dfiv_ope import agents
from dfiv_ope.evaluation import sweep_spec


def test_the_defaults_are_the_grid_of_the_paper():
  request = sweep_spec.parse({})
  assert request.tasks == ('catch', 'mountain_car', 'cartpole')
  assert request.noises == (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
  assert request.seeds == 5 and request.configs == ('default',)


def test_lists_may_be_lists_or_have_commas():
  first = sweep_spec.parse({'noises': '0, 0.5', 'methods': 'kiv,lstd'})
  assert first == sweep_spec.parse(
    {'noises': [0, 0.5], 'methods': ['kiv', 'lstd']}
  )
  assert sweep_spec.parse({'noises': 0.3}).noises == (0.3,)
  assert sweep_spec.parse({'methods': 'all'}).methods == agents.NAMES
  assert sweep_spec.parse({}).methods == agents.LEARNERS


def test_settings_become_texts_that_are_parsed_as_numbers():
  # YAML reads 1e-5, without a dot, as a string.
  request = sweep_spec.parse(
    {
      'methods': 'dfiv',
      'settings': {'dfiv': {'updates': 4, 'penalty': '1e-5', 'hidden': [5, 5]}},
    }
  )
  assert request.settings == {
    'dfiv': ('hidden=(5, 5)', 'penalty=1e-5', 'updates=4')
  }


def test_a_quick_budget_shortens_training_but_not_what_was_set():
  spec = sweep_spec.parse(
    {
      'methods': 'lstd,dfiv',
      'configs': 'default,paper',
      'budget': 'quick',
      'settings': {'dfiv': {'updates': 7, 'batch_size': 32}},
    }
  )
  found = [
    (
      each.method,
      each.preset,
      each.custom,
      each.config.updates,
      each.config.checks,
      each.config.batch_size,
    )
    for each in spec.wanted()
  ]
  assert found == [
    ('lstd', 'default', False, 0, 1, 1024),
    ('lstd', 'paper', False, 0, 1, 1024),
    ('dfiv', 'default', True, 7, 2, 32),
    ('dfiv', 'paper', True, 7, 2, 32),
  ]
  (full,) = sweep_spec.parse({'methods': 'fqe'}).wanted()
  assert (full.custom, full.config.updates) == (False, 20_000)
  (quick,) = sweep_spec.parse({'methods': 'fqe', 'budget': 'quick'}).wanted()
  assert (quick.custom, quick.config.updates, quick.config.checks) == (
    True,
    4000,
    4,
  )


@pytest.mark.parametrize(
  'data, words',
  [
    (
      {'method': 'dfiv'},
      r'no method \(did you mean methods\?\). The keys are: tasks, noises',
    ),
    ({'methods': 'sorcery'}, "no method 'sorcery'. Choose from lstd, kiv"),
    ({'tasks': 'chess'}, "no task 'chess'. Choose from catch"),
    ({'configs': 'best'}, "no config 'best'. Choose from default, paper"),
    ({'budget': 'fast'}, "no budget 'fast'. Choose from quick, full."),
    ({'settings': {'sorcery': {}}}, "no method 'sorcery'. Choose from"),
    ({'methods': 'kiv', 'settings': {'lstd': {}}}, 'only kiv'),
    ({'settings': 3}, 'settings should hold names and values, got 3'),
    ({'seeds': 'many'}, "seeds should be a whole number, got 'many'"),
    ({'seeds': 1.5}, 'seeds should be a whole number, got 1.5'),
    ({'seeds': 0}, 'seeds must be at least 1'),
    ({'noises': '0,two'}, "noises should be numbers, got 'two'"),
    ({'noises': 2}, r'noises must lie in \[0, 1\], got 2'),
    ({'noises': ''}, 'noises must name at least one'),
    ({'discount': 1.5}, r'discount must lie in \[0, 1\]'),
  ],
)
def test_what_cannot_be_asked_for_is_said(data, words):
  with pytest.raises(ValueError, match=words):
    sweep_spec.parse(data)


def test_a_preset_that_is_no_other_is_not_run_twice():
  spec = sweep_spec.parse({'methods': 'cme,kiv', 'configs': 'default,paper'})
  assert [(each.method, each.preset) for each in spec.wanted()] == [
    ('cme', 'default'),
    ('kiv', 'default'),
    ('kiv', 'paper'),
  ]
  alone = sweep_spec.parse({'methods': 'cme', 'configs': 'paper'})
  assert [each.preset for each in alone.wanted()] == ['paper']
