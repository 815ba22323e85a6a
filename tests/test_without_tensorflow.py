"""Closed forms run in numpy: nothing on their way imports TensorFlow."""

import json
import subprocess
import sys
import textwrap

import pytest

_PROGRAM = textwrap.dedent("""
    import json
    import sys

    import numpy as np

    import dfiv_ope

    generator = np.random.default_rng(0)
    count, steps = 40, 10
    names = generator.integers(4, size=count * steps)
    numbers = generator.normal(size=(count * steps, 2))
    actions = generator.integers(2, size=count * steps)
    ends = np.tile(np.arange(steps) == steps - 1, count)
    logs = {
        'numbers': dfiv_ope.Log.from_arrays(
            numbers, actions, numbers[:, 0], ends, discount=0.9),
        'table': dfiv_ope.Log.from_arrays(
            names[:, None].astype(float), actions, (names == 1).astype(float),
            ends, discount=0.9, categorical=[0]),
    }
    found = {}
    for name, log in logs.items():
      result = dfiv_ope.evaluate(
          log, lambda s: np.tile([0.4, 0.6], (len(s), 1)),
          methods=['lstd', 'nearest', 'wpdis', 'dr'], seeds=1)
      result.interval(0.95)
      found[name] = [result.value, result.overlap.weights.mean]
    found['share'] = float(np.mean(names == 1))
    loaded = [each for each in ('tensorflow', 'sonnet', 'reverb')
              if each in sys.modules]
    print(json.dumps([found, loaded]))
""")


@pytest.fixture(scope='module', name='answer')
def _answer():
  done = subprocess.run(
    [sys.executable, '-c', _PROGRAM], capture_output=True, text=True
  )
  assert not done.returncode, done.stderr
  return json.loads(done.stdout)


def test_closed_forms_of_numbers_and_tables_do_not_import_tensorflow(answer):
  found, loaded = answer
  assert loaded == []
  assert set(found) == {'numbers', 'table', 'share'}


def test_their_answers_are_those_of_the_log(answer):
  found = answer[0]
  # A share of the steps has a reward of one, and a tenth ends its episode.
  value = found['share'] / (1.0 - 0.9 * 0.9)
  assert found['table'][0] == pytest.approx(value, rel=0.1)
  for name in ('numbers', 'table'):
    assert found[name][1] == pytest.approx(1.0, abs=0.1)
