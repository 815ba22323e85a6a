"""What every agent must do, run on each of them."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import agents, types
from dfiv_ope.agents import base, checkpoints
from dfiv_ope.ope import decisions

pytestmark = pytest.mark.parametrize('name', agents.NAMES)


def test_no_agent_is_missing(quick, finished, name):
  assert name in quick
  assert isinstance(finished(name).agent, base.Agent)


def test_both_configs_are_frozen_and_complete(name):
  module = agents.load(name)
  assert set(module.CONFIGS) == {'default', 'paper'}
  for config in module.CONFIGS.values():
    assert isinstance(config, module.Config)
    with pytest.raises(dataclasses.FrozenInstanceError):
      config.updates = 1


def test_a_run_ends_after_its_updates(finished, name):
  learner = finished(name)
  config = learner.agent.config
  assert learner.done
  assert learner.history['updates'] == [
      config.updates * check // config.checks
      for check in range(1, config.checks + 1)]
  assert learner.history['estimate'][-1] == learner.evaluate()
  before = learner.save()
  learner.step()  # has no effect
  _assert_equal(learner.save(), before)


def test_same_seed_same_numbers(case, quick, finished, name):
  runs = [finished(name)]
  for seed in (0, 1):
    learner = case.learner(name, seed=seed, **quick[name])
    learner.run()
    runs.append(learner)
  assert runs[0].history == runs[1].history
  values = [run.q_function.values(case.observations).numpy() for run in runs]
  np.testing.assert_array_equal(values[0], values[1])
  assert np.any(values[0] != values[2])


def test_a_restored_run_goes_on_bit_for_bit(
    case, quick, finished, name, tmp_path):
  whole = finished(name)
  begun = case.learner(name, **quick[name])
  begun.run(1)
  checkpoints.Series(tmp_path / 'run', {'seed': 0}).save(
      begun, number=1, state={'looks': 1})
  for how in ('checkpoint', 'save'):
    resumed = case.learner(name, **quick[name])
    if how == 'checkpoint':
      series = checkpoints.Series(tmp_path / 'run', {'seed': 0})
      assert series.state == {'looks': 1}
      series.restore(resumed)
    else:
      resumed.restore(begun.save())
    assert resumed.history == begun.history
    resumed.run()
    assert resumed.history == whole.history
    _assert_equal(resumed.save(), whole.save())


def test_q_values_and_their_expectation_agree(case, finished, name):
  learner = finished(name)
  values = learner.q_function.values(case.observations).numpy()
  assert values.shape == (5, 2)
  assert isinstance(learner.q_function, types.QFunction)
  np.testing.assert_allclose(
      learner.q_function.expected(case.observations),
      values @ [0.3, 0.7], rtol=1e-4, atol=1e-4)
  assert learner.evaluate() == pytest.approx(
      (values @ [0.3, 0.7]).mean(), rel=1e-3, abs=1e-4)


def test_batches_of_one_row_will_do(case, quick, name):
  learner = case.learner(name, **{**quick[name], 'batch_size': 1})
  learner.run(1)
  assert len(learner.history['estimate']) == 1


def test_it_learns_from_a_stream(case, quick, name):
  config = quick[name]
  learner = case.learner(
      name, data=_Stream(case.rows, config.get('batch_size', 512)), **config)
  learner.run()
  assert learner.done
  assert np.isfinite(learner.evaluate())
  assert 'data' not in learner.state


def test_it_serves_its_variables(finished, name):
  learner = finished(name)
  (values,) = learner.get_variables(['agent'])
  assert len(values) == len(learner.agent.variables) > 0
  with pytest.raises(ValueError, match=r"serves \['agent'\]"):
    learner.get_variables(['policy'])


def test_a_value_that_rewards_do_not_allow_is_a_divergence(case, quick, name):
  learner = case.learner(name, **quick[name])

  class Broken(type(learner.agent)):

    def predict(self, decision: decisions.Decision) -> tf.Tensor:
      return super().predict(decision) + 1e6

  learner.agent.__class__ = Broken
  learner.run()
  assert learner.done
  assert 'outside' in learner.divergence
  assert len(learner.history['estimate']) == 1


def test_wrong_numbers_are_refused(name):
  config = agents.load(name).CONFIGS['default']
  for field, value, words in (
      ('updates', -1, 'updates must not be negative'),
      ('batch_size', 0, 'batch_size must be at least 1'),
      ('checks', 10 ** 9, 'checks must not exceed updates')):
    with pytest.raises(ValueError, match=words):
      dataclasses.replace(config, **{field: value})


class _Stream:
  """Rows from a `tf.data` pipeline, as from a Reverb server."""

  def __init__(self, rows, batch_size):
    data = tf.data.Dataset.from_tensor_slices(
        (rows.treatment, rows.outcome)).repeat().shuffle(2000).batch(batch_size)
    self._iterator = iter(data.map(
        lambda step, outcome: types.IVBatch(step, step.now, outcome)))

  def sample(self):
    return next(self._iterator)

  def parts(self):
    for _ in range(8):
      yield self.sample()


def _assert_equal(first, second):
  tf.nest.map_structure(np.testing.assert_array_equal, first, second)
