"""Hyper-parameters of estimators: names, aliases, refusals."""

import pytest
from sklearn import base

from dfiv_ope.iv import estimators, methods


@pytest.mark.parametrize('kind', estimators.ESTIMATORS.values())
def test_parameters_are_the_fields_of_the_config(kind):
  model = kind(random_state=7)
  assert model.get_params()['random_state'] == 7
  assert base.clone(model).get_params() == model.get_params()
  assert model._config() == methods.load(model._method).Config()
  with pytest.raises(TypeError, match="no parameter 'lam'. Its parameters"):
    kind(lam=1.0)


@pytest.mark.parametrize('kind', estimators.ESTIMATORS.values())
def test_no_parameter_hides_a_method(kind):
  model = kind()
  for name in filter(lambda name: not name.startswith('_'), dir(kind)):
    if callable(getattr(kind, name)):
      assert callable(getattr(model, name)), name


def test_a_field_that_is_called_like_a_method_has_another_name():
  for model in (
    estimators.DFIV(checks=3),
    estimators.DFIV(training_checks=3),
    estimators.DFIV().set_params(training_checks=3),
    base.clone(estimators.DFIV(checks=3)),
  ):
    assert model.training_checks == 3 and model._config().checks == 3
  assert 'checks' not in estimators.DFIV().get_params()


def test_a_field_and_its_other_name_are_not_taken_together():
  with pytest.raises(
    TypeError, match="got 'checks' and 'training_checks', which are the same"
  ):
    estimators.DFIV(checks=3, training_checks=5)


@pytest.mark.parametrize('state', [None, -1, 1.5])
def test_a_random_state_that_is_no_seed_is_refused(state):
  with pytest.raises(ValueError, match='random_state must be'):
    estimators.TwoSLS(random_state=state).fit(
      [1.0, 2.0, 1.5, 3.0], [1.0, 2.0, 3.0, 4.0], Z=[1.0, 3.0, 2.0, 4.0]
    )
