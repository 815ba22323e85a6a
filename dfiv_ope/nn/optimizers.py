"""Optimisers that Sonnet lacks, or has slower."""

from collections.abc import Sequence

import sonnet as snt
import tensorflow as tf


class Adam(snt.Optimizer):
  """Adam (Kingma and Ba, 2015), one operation a parameter.

  The steps are those of `snt.optimizers.Adam`, which spends some fifteen
  operations on each: most of an update's time where networks are small.
  """

  def __init__(
    self,
    learning_rate: float | tf.Variable = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    name: str | None = None,
  ):
    """Initialises the optimiser; moments are made on the first `apply`."""
    super().__init__(name=name)
    self._learning_rate = learning_rate
    self._beta1 = beta1
    self._beta2 = beta2
    self._epsilon = epsilon
    self._power1 = tf.Variable(1.0, trainable=False, name='power1')
    self._power2 = tf.Variable(1.0, trainable=False, name='power2')
    self._first: list[tf.Variable] = []
    self._second: list[tf.Variable] = []

  @snt.once
  def _initialize(self, parameters: Sequence[tf.Variable]) -> None:
    _add_zeros(parameters, self._first, self._second)

  def apply(
    self, updates: Sequence[tf.Tensor], parameters: Sequence[tf.Variable]
  ) -> None:
    """Moves each parameter by its gradient in `updates`."""
    self._initialize(parameters)
    power1 = self._power1.assign(self._power1 * self._beta1)
    power2 = self._power2.assign(self._power2 * self._beta2)
    # The operation adds epsilon to the biased root; the paper, to the unbiased.
    epsilon = self._epsilon * tf.sqrt(1.0 - power2)
    for gradient, parameter, first, second in zip(
      updates, parameters, self._first, self._second, strict=True
    ):
      tf.raw_ops.ResourceApplyAdam(
        var=parameter.handle,
        m=first.handle,
        v=second.handle,
        beta1_power=power1,
        beta2_power=power2,
        lr=self._learning_rate,
        beta1=self._beta1,
        beta2=self._beta2,
        epsilon=epsilon,
        grad=gradient,
      )


class OAdam(snt.Optimizer):
  """Optimistic Adam, for minimax problems such as DeepGMM's.

  Each step takes twice the present Adam direction and gives the previous one
  back, which damps the cycling of simultaneous gradient play:

      theta <- theta - 2 rate d_t + rate d_{t-1},  d_t = m_t / (sqrt(v_t) + eps)

  (Daskalakis et al., Training GANs with Optimism, 2018.) The first step is a
  plain Adam step.
  """

  def __init__(
    self,
    learning_rate: float = 1e-3,
    beta1: float = 0.5,
    beta2: float = 0.9,
    epsilon: float = 1e-8,
    name: str | None = None,
  ):
    """Initialises the optimiser; moments are made on the first `apply`."""
    super().__init__(name=name)
    if not learning_rate > 0:
      raise ValueError(f'learning_rate must be positive, got {learning_rate}.')
    for label, beta in (('beta1', beta1), ('beta2', beta2)):
      if not 0 <= beta < 1:
        raise ValueError(f'{label} must lie in [0, 1), got {beta}.')
    self._learning_rate = learning_rate
    self._beta1 = beta1
    self._beta2 = beta2
    self._epsilon = epsilon
    self._step = tf.Variable(0, dtype=tf.int64, trainable=False, name='step')
    self._first: list[tf.Variable] = []
    self._second: list[tf.Variable] = []
    self._previous: list[tf.Variable] = []

  @snt.once
  def _initialize(self, parameters: Sequence[tf.Variable]) -> None:
    _add_zeros(parameters, self._first, self._second, self._previous)

  def apply(
    self, updates: Sequence[tf.Tensor], parameters: Sequence[tf.Variable]
  ) -> None:
    """Moves each parameter by its gradient in `updates`."""
    if len(updates) != len(parameters):
      raise ValueError(
        f'OAdam got {len(updates)} gradients for {len(parameters)} '
        'parameters; pass one gradient a parameter.'
      )
    self._initialize(parameters)
    # What is the same for all parameters is computed once.
    step = tf.cast(self._step.assign_add(1), parameters[0].dtype)
    bias1, bias2 = 1.0 - self._beta1**step, 1.0 - self._beta2**step
    later, rate = step > 1.0, tf.convert_to_tensor(self._learning_rate)
    slots = zip(
      updates,
      parameters,
      self._first,
      self._second,
      self._previous,
      strict=True,
    )
    for gradient, parameter, first, second, previous in slots:
      mean = self._beta1 * first + (1.0 - self._beta1) * gradient
      square = self._beta2 * second + (1.0 - self._beta2) * tf.square(gradient)
      direction = (mean / bias1) / (tf.sqrt(square / bias2) + self._epsilon)
      # With no previous step there is nothing to be optimistic about.
      back = tf.where(later, previous, direction)
      parameter.assign_sub(rate * (2.0 * direction - back))
      first.assign(mean)
      second.assign(square)
      previous.assign(direction)


def _add_zeros(
  parameters: Sequence[tf.Variable], *slots: list[tf.Variable]
) -> None:
  """Adds to each list a variable of zeros for each parameter."""
  for variables in slots:
    variables.extend(
      tf.Variable(tf.zeros_like(p), trainable=False) for p in parameters
    )
