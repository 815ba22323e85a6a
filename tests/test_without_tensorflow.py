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
    names = generator.integers(4, size=(count, steps + 1))
    columns = dict(
        episode=np.repeat(np.arange(count), steps),
        action=generator.integers(2, size=count * steps),
        terminated=np.zeros(count * steps, bool),
        truncated=np.tile(np.arange(steps) == steps - 1, count))
    numbers = generator.normal(size=(count * steps, 2))
    logs = {
        'numbers': dfiv_ope.Log.from_arrays(
            observation=numbers, reward=numbers[:, 0], discount=0.9, **columns),
        'table': dfiv_ope.Log.from_arrays(
            observation=names[:, :-1].reshape(-1, 1).astype(float),
            reward=(names[:, :-1].ravel() == 1).astype(float),
            discount=0.9, categorical=[0], **columns),
    }
    found = {
        f'{name} {method}': dfiv_ope.evaluate(
            log, lambda s: np.tile([0.4, 0.6], (len(s), 1)), method=method,
            seeds=1).value
        for name, log in logs.items()
        for method in ('lstd', 'kiv', 'nearest')
    }
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
  assert len(found) == 6


def test_their_values_are_those_of_the_log(answer):
  # A quarter of the states has a reward of one, and actions change nothing.
  assert answer[0]['table lstd'] == pytest.approx(2.5, abs=0.4)
  assert answer[0]['numbers lstd'] == pytest.approx(0.0, abs=1.0)
