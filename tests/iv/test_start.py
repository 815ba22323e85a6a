"""What a fresh interpreter loads and prints."""

import os
import subprocess
import sys

import pytest

_DATA = """
import sys, warnings
import numpy as np
import dfiv_ope
warnings.simplefilter('ignore')
generator = np.random.default_rng(0)
z, x, e = generator.normal(size=(3, 60))
t = z + e
y = 2. * t + x + e
"""

_CLOSED_FORM = (
  _DATA
  + """
model = dfiv_ope.estimators.{name}({parameters}).fit(y, t, Z=z, X=x)
model.save({path!r})
loaded = dfiv_ope.estimators.load({path!r})
np.testing.assert_array_equal(loaded.predict(t, x), model.predict(t, x))
assert loaded.summary() == model.summary()
loaded.ate(0., 1.), loaded.dose_response([0., 1.])
assert dfiv_ope.regressors.IVRegressor
heavy = {{'tensorflow', 'sonnet', 'reverb', 'acme'}} & set(sys.modules)
assert not heavy, heavy
"""
)

_TRAINED = (
  _DATA
  + """
dfiv_ope.estimators.DFIV(iterations=2, checks=1).fit(y, t, Z=z, X=x)
dfiv_ope.estimators.DeepGMM(steps=2, checks=1).fit(y, t, Z=z, X=x)
tf = sys.modules['tensorflow']
for _ in range(9):  # As many learners would.
  tf.function(lambda x: x + 1, autograph=False)(tf.constant(1))
"""
)


def run(code):
  """Returns what a fresh interpreter prints, without our test settings."""
  environment = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith('TF_')
  }
  done = subprocess.run(
    [sys.executable, '-c', code],
    env=environment,
    capture_output=True,
    text=True,
    timeout=300,
    check=False,
  )
  assert done.returncode == 0, done.stderr
  return done.stdout + done.stderr


@pytest.mark.parametrize(
  'name, parameters',
  [('TwoSLS', ''), ('SieveIV', 'n_splits=1'), ('KIV', 'n_splits=1')],
)
def test_closed_forms_need_no_tensorflow(name, parameters, tmp_path):
  assert not run(
    _CLOSED_FORM.format(
      name=name, parameters=parameters, path=str(tmp_path / 'model')
    )
  )


def test_a_training_prints_nothing():
  assert not run(_TRAINED)
