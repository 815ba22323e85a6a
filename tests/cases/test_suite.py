"""The suite: every case can be drawn, and the halves stay what they are."""

import builtins
import hashlib
import subprocess
import sys

import numpy as np
import pytest

from dfiv_ope.cases import case, gym_tables, icu, suite

# Those that take well below a second.
_QUICK = [
  name
  for name, each in suite.CASES.items()
  if each.family not in ('icu', 'gymnasium')
]
# Parts without a case of few rows.
_LARGER = (case.DEVELOPMENT, case.HELD_OUT, case.DEVELOPMENT_2)


@pytest.mark.parametrize(
  'part, size, digest',
  [
    (case.DEVELOPMENT, 35, 'fbe816dcbbaa461f'),
    (case.HELD_OUT, 34, '84f36e4218ca4ba2'),
    (case.DEVELOPMENT_2, 10, '7c31f59864cc08fc'),
    (case.HELD_OUT_2, 20, 'a7741d567c69ae22'),
    (case.DEVELOPMENT_3, 8, '611de8296a4fc84d'),
    (case.HELD_OUT_3, 16, 'bb6f47e85fb0c928'),
  ],
)
def test_the_parts_are_fixed(part, size, digest):
  names = [name for name, each in suite.CASES.items() if each.half == part]
  assert len(names) == size
  # Cases were looked at in these parts: a changed name would mix them.
  found = hashlib.sha256(' '.join(names).encode()).hexdigest()
  assert found[:16] == digest


def test_families_are_in_one_set_and_in_both_its_parts():
  families = {each.family for each in suite.CASES.values()}
  for family in families:
    members = [
      each.half for each in suite.CASES.values() if each.family == family
    ]
    first = {case.DEVELOPMENT, case.HELD_OUT}
    assert set(members) <= first or not set(members) & first, family
    assert len(members) < 3 or len(set(members)) == 2, family


@pytest.mark.parametrize('name', _QUICK)
def test_cases_are_what_their_facts_say(name):
  each = suite.CASES[name]
  made = each.make(0)
  facts, log = each.facts, made.log
  assert case.overlap_label(made.overlap) == facts.overlap
  assert log.num_episodes == facts.episodes
  assert log.longest <= facts.horizon
  assert not log.truncated or facts.truncated
  assert (log.behaviour_probabilities is not None) == facts.recorded
  assert (log.continuous is not None) == facts.vectors
  assert log.time_feature == facts.time_feature
  assert (
    len(log.categorical) == log.num_observations - log.time_feature
  ) == facts.table
  assert (1_000 if each.half in _LARGER else 300) <= len(log) <= 22_000
  assert np.isfinite(log.transitions.observation).all()
  assert log.digest == each.make(0).log.digest != each.make(1).log.digest


def test_a_case_is_a_question():
  made = suite.CASES['graph-long'].make(0)
  probabilities = made.task.policy.action_probabilities(
    made.task.initial_observations[:1]
  )
  np.testing.assert_allclose(probabilities, [[0.6, 0.4]], rtol=1e-6)
  assert made.policy is made.task.policy
  # The second lane mirrors the first: .2 x .5 at each of 16 steps.
  assert made.truth == pytest.approx(0.1 * np.sum(0.98 ** np.arange(16)))
  assert made.truth_error == 0.0
  values = [value.found[0] for value in made.others.values()]
  np.testing.assert_allclose(
    values, np.array([-4.0, -2.0, 0.0, 2.0, 4.0]) * made.truth, atol=1e-12
  )
  other = made.ask(made.others['0.9'], like=made.task)
  assert other.transitions is made.task.transitions


def test_vector_cases_are_questions():
  made = suite.CASES['pendulum-vectors-near'].make(0)
  found = np.asarray(made.task.log_target)
  ratios = np.exp(found) / made.log.behaviour_probabilities
  assert np.sum(ratios) ** 2 / (
    len(ratios) * np.sum(np.square(ratios))
  ) == pytest.approx(made.overlap, rel=1e-3)


def test_the_first_of_each_family_is_ranked():
  assert suite.first_of_families(
    ['graph-long', 'graph-short', 'queue-far', 'queue-few']
  ) == ['graph-long', 'queue-far']


def test_families_take_turns():
  names, notes = suite.select('graph')
  families = [suite.CASES[name].family for name in names]
  assert families[:6] == ['graph', 'graph_hidden'] * 3 and not notes
  assert len(names) == 12 and suite.select('queue-far')[0] == ['queue-far']
  quick = suite.select('quick')[0]
  found = {(suite.CASES[name].family, suite.CASES[name].half) for name in quick}
  assert len(found) == len(quick) and set(quick) < set(suite.select('all')[0])
  assert {suite.CASES[name].half for name in quick} == {
    case.DEVELOPMENT,
    case.HELD_OUT,
  }
  held_out = suite.select('held_out_2')[0]
  assert len(held_out) == 20 and 'tanks-vectors' in held_out
  with pytest.raises(ValueError, match="No case begins with 'chess'.*queue"):
    suite.select('chess')


def test_simulated_truths_have_small_errors():
  made = suite.CASES['navigation-few'].make(0)
  assert 0.0 < made.truth_error < 0.01 * abs(made.truth)


def test_the_suite_loads_no_tensorflow():
  subprocess.run(
    [
      sys.executable,
      '-c',
      (
        'import sys; from dfiv_ope.cases import suite; '
        'suite.CASES["graph-long"].make(0).truth; '
        'assert "tensorflow" not in sys.modules'
      ),
    ],
    check=True,
  )


def test_frozen_lake_has_its_known_value():
  pytest.importorskip('gymnasium')
  made = suite.CASES['gymnasium-lake-4x4'].make(0)
  best = max(value.found[0] for value in made.others.values())
  # Value iteration at discount .95, as published for the 4 x 4 lake.
  assert best == pytest.approx(0.1805, abs=1e-4)


def test_missing_packages_say_how_to_install_them(monkeypatch):
  real = builtins.__import__

  def without(name, *args, **kwargs):
    if name == 'gymnasium':
      raise ModuleNotFoundError(name)
    return real(name, *args, **kwargs)

  monkeypatch.setattr(builtins, '__import__', without)
  with pytest.raises(ModuleNotFoundError, match=r"pip install 'dfiv-ope\[gym"):
    gym_tables.gym_table('Taxi-v4')
  monkeypatch.setattr(icu.importlib.util, 'find_spec', lambda name: None)
  with pytest.raises(ModuleNotFoundError, match='icu-sepsis==2.0.1'):
    icu.hospital.__wrapped__()
  assert suite.missing(['graph-long', 'icu-half-500']) == {
    'icu-half-500': 'pip install --no-deps icu-sepsis==2.0.1'
  }


def test_patients_have_their_published_values():
  try:
    made = icu.hospital()
  except ModuleNotFoundError:
    pytest.skip('icu-sepsis is not installed')
  assert made.problem.value(made.clinicians) == pytest.approx(0.7222, abs=5e-5)
  assert made.problem.value(made.uniform) == pytest.approx(0.7191, abs=5e-5)
