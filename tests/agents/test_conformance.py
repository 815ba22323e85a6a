"""What every agent that learns must do, run on each of them.

`test_direct` has the same for those that weigh a log.
"""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import agents, types
from dfiv_ope.agents import base, checkpoints
from dfiv_ope.ope import decisions

pytestmark = pytest.mark.parametrize('name', agents.LEARNERS)


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
  assert learner.history['updates'] == list(config.marks)
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
  values = [
    np.asarray(run.q_function.values(case.observations)) for run in runs
  ]
  np.testing.assert_array_equal(values[0], values[1])
  assert np.any(values[0] != values[2])


def test_a_restored_run_goes_on_bit_for_bit(
  case, quick, finished, name, tmp_path
):
  whole = finished(name)
  begun = case.learner(name, **quick[name])
  begun.run(1)
  checkpoints.Series(tmp_path / 'run', {'seed': 0}).save(
    begun, number=1, state={'looks': 1}
  )
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
  values = np.asarray(learner.q_function.values(case.observations))
  assert values.shape == (5, 2)
  assert isinstance(learner.q_function, types.QFunction)
  np.testing.assert_allclose(
    learner.q_function.expected(case.observations),
    values @ [0.3, 0.7],
    rtol=1e-4,
    atol=1e-4,
  )
  assert learner.evaluate() == pytest.approx(
    (values @ [0.3, 0.7]).mean(), rel=1e-3, abs=1e-4
  )


def test_a_batch_of_one_row_is_worth_copies_of_it(case, quick, name):
  if name == 'deepiv':  # Without a future its draws of it do not matter.
    case = case._replace(
      problem=dataclasses.replace(case.problem, discount=0.0)
    )
  config = quick[name]
  if name == 'kiv':  # Twenty rows do not tell tiny penalties apart.
    config = {
      **config,
      'stage1_penalties': (1e-3,),
      'stage2_penalties': (1e-3,),
    }
  if name == 'dfiv':
    # One row leaves most directions of the features to the penalty. With a
    # small one these are what float32 products are rounded to, and differ by a
    # thousandth between numbers of copies and processors.
    config = {**config, 'stage1_penalty': 0.1, 'stage2_penalty': 0.1}
  runs = []
  for copies in (1, 4):
    learner = case.learner(
      name, data=_Copies(case.rows, copies), **{**config, 'batch_size': copies}
    )
    before = np.asarray(learner.q_function.values(case.observations))
    learner.run()
    runs.append(learner)
    assert (
      np.abs(learner.q_function.values(case.observations) - before).max() > 1e-4
    )
  assert set(runs[0].history) == set(runs[1].history)
  for metric, values in runs[0].history.items():
    np.testing.assert_allclose(
      values, runs[1].history[metric], rtol=1e-3, atol=1e-5, err_msg=metric
    )
  np.testing.assert_allclose(
    *(run.q_function.values(case.observations) for run in runs),
    rtol=1e-3,
    atol=1e-4,
  )


def test_it_learns_from_a_stream(curve, learning, require_learned, name):
  config = learning[name]
  streamed = curve.learner(
    name, data=_Stream(curve.rows, config.get('batch_size', 1000)), **config
  )
  # Of a closed form that was not solved, and of networks as they start.
  untrained = streamed
  if config.get('updates'):
    untrained = curve.learner(name, **{**config, 'updates': 0, 'checks': 1})
    untrained.run()
  values = untrained.q_function.values(curve.observations)
  streamed.run()
  assert streamed.done
  assert 'data' not in streamed.state
  require_learned(
    curve.q_values, streamed.q_function.values(curve.observations), values
  )
  # Where an episode starts is uniform here; the policy is that of the case.
  expected = curve.q_values @ [0.3, 0.7]
  assert streamed.evaluate() == pytest.approx(
    expected.mean(), abs=0.2 * expected.std()
  )


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
    ('checks', 10**9, 'checks must not exceed updates'),
  ):
    with pytest.raises(ValueError, match=words):
      dataclasses.replace(config, **{field: value})


class _Indexed:
  """Rows at the indices that a `tf.data` pipeline gives, [B] each."""

  def __init__(self, rows, indices, part_count):
    self._iterator = iter(
      indices.map(
        lambda index: tf.nest.map_structure(
          lambda x: None if x is None else tf.gather(x, index), rows
        )
      )
    )
    self._part_count = part_count

  def sample(self):
    return next(self._iterator)

  def parts(self):
    for _ in range(self._part_count):
      yield self.sample()


class _Stream(_Indexed):
  """Rows in a random order, as from a Reverb server."""

  def __init__(self, rows, batch_size):
    count = len(rows.outcome)
    super().__init__(
      rows,
      tf.data.Dataset.range(count)
      .shuffle(count, seed=0)
      .repeat()
      .batch(batch_size),
      part_count=2 * -(-4000 // batch_size),
    )


class _Copies(_Indexed):
  """Rows that come one by one, each as often as `copies` says.

  Copies come in two parts, the halves that single rows make in turns.
  """

  def __init__(self, rows, copies):
    super().__init__(
      rows,
      tf.data.Dataset.range(20)
      .repeat()
      .map(lambda index: tf.repeat(index, copies)),
      part_count=20,
    )
    self._rows, self._copies = rows, copies

  def parts(self):
    if self._copies == 1:
      yield from super().parts()
      return
    for start in (0, 1):
      index = np.repeat(np.arange(start, 20, 2), self._copies)
      yield tf.nest.map_structure(
        lambda x, index=index: None if x is None else tf.gather(x, index),
        self._rows,
      )


def _assert_equal(first, second):
  tf.nest.map_structure(np.testing.assert_array_equal, first, second)
