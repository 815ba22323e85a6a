"""Features that the instrument tells most of, before any outcome is seen.

Where treatment and instrument are pictures, little of an outcome's variance
passes both stages, and gradients of Eq. (8) hardly tell networks what a picture
shows. Treatment and instrument tell of each other: here psi and phi climb
together the sum of their squared canonical correlations, as deep canonical
correlation analysis does (Andrew et al., 2013). At its maximum they span the
leading singular functions of E[. | z], those of f that an instrument shows best
(as Sun et al., 2025, have them). Algorithm 1 may go on from there.

    dfiv_spectral.train(model, stage1, stage2, seed=0)

Deviation: the paper starts from random networks.
"""

import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.iv import differentiable
from dfiv_ope.iv.methods import dfiv_model
from dfiv_ope.nn import descent


def correlations(
  treatment: tf.Tensor, instrument: tf.Tensor, penalty: float
) -> tf.Tensor:
  """Returns the sum of the squared canonical correlations: [].

  That is the trace of the regression of V phi(z) on psi(x), where V phi(z) is
  stage 1, Eq. (7). With penalties it is less, and directions in which features
  hardly move count little.

  Args:
    treatment: psi(x), [B, d1].
    instrument: phi(z), [B, d2].
    penalty: of both regressions, per row.
  """
  weights = differentiable.stage1(instrument, treatment, penalty)
  back = differentiable.stage1(
    treatment, differentiable.predict_treatment(instrument, weights), penalty
  )
  return tf.linalg.trace(back[:-1])


def train(
  model: dfiv_model.DFIV,
  stage1: types.IVBatch,
  stage2: types.IVBatch,
  *,
  seed: int,
  progress: types.Progress | None = None,
) -> dict[str, list[float]]:
  """Trains psi and phi of a model; their rates fall after each check.

  They are left where they went together most in rows that they did not see.

  Args:
    model: untrained; its config has the number of steps.
    stage1: rows of stage 1 as float32 tensors; outcomes are not looked at.
    stage2: rows of stage 2, which judge; their outcomes neither.
    seed: of the batches that are drawn.
    progress: told the correlations at each check.

  Returns:
    At each check the correlations in the last batch, as 'correlations', and
    those in the rows of stage 2, as 'held_out_correlations'.
  """
  config = model.config
  # Descents of their own: Algorithm 1 begins with fresh moments and full rates.
  fresh = dfiv_model.descents(
    config, model.treatment.network, model.instrument.network
  )
  generator = tf.random.Generator.from_seed((seed, 5))

  def once() -> tf.Tensor:
    rows = stage1
    if config.batch_size is not None:
      rows = descent.mini_batch(stage1, config.batch_size, generator)
    psi, phi = (
      each.network(x, is_training=True)
      for each, x in zip(fresh, (rows.treatment, rows.instrument), strict=True)
    )
    return -correlations(psi, phi, config.stage1_penalty)

  @tf.function(autograph=False)
  def run(count: tf.Tensor) -> tf.Tensor:
    return tf.while_loop(
      lambda index, _: index < count,
      lambda index, _: (index + 1, descent.step_together(fresh, once)),
      (tf.constant(0), tf.zeros([])),
    )[1]

  history: dict[str, list[float]] = {
    'correlations': [],
    'held_out_correlations': [],
  }
  judged = history['held_out_correlations']
  best = [each.values() for each in fresh]
  for done, until in descent.intervals(config.spectral_steps, config.checks):
    for each in fresh:
      each.anneal(done / config.spectral_steps)
    history['correlations'].append(-float(run(tf.constant(until - done))))
    held_out = model.features(stage2)
    judged.append(
      float(
        correlations(
          held_out.treatment, held_out.instrument, config.stage1_penalty
        )
      )
    )
    if judged[-1] == max(judged):
      best = [each.values() for each in fresh]
    if progress is not None:
      progress(
        until,
        config.spectral_steps,
        {name: values[-1] for name, values in history.items()},
      )
  for each, values in zip(fresh, best, strict=True):
    each.adopt(values)
  return history
