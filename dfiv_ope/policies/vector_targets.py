"""Target policies over vectors: what a user names or hands in, tried."""

from collections.abc import Callable, Sequence
import pathlib
from typing import Any

import numpy as np
import tensorflow as tf

from dfiv_ope import actions as actions_lib
from dfiv_ope import types, user_code
from dfiv_ope.policies import (
  answers,
  continuous,
  density_cloning,
  identity,
  naming,
  onnx_models,
  trained,
  uniform_vectors,
  vector_answers,
  vector_functions,
)

_DRAWS = 2  # actions that are tried in each state


def from_name(
  text: str,
  *,
  num_observations: int,
  actions: actions_lib.Continuous,
  transitions: types.Transition,
  episodes: np.ndarray,
  categorical: Sequence[int],
  trusted: bool,
) -> tuple[types.ContinuousPolicy, str]:
  """Returns a policy, and what is known of it only now.

  Args:
    text: as for `naming.check`.
    num_observations: D.
    actions: what an action is.
    transitions: the log.
    episodes: to which episode each row belongs, [N].
    categorical: columns of the observations whose values are names.
    trusted: load a SavedModel whatever operations it holds.

  Raises:
    ValueError: it is not a policy for these actions.
  """
  path = pathlib.Path(text)
  match naming.kind(text):
    case naming.UNIFORM:
      return uniform_vectors.Uniform(actions), ''
    case naming.CLONE:
      found = density_cloning.clone(
        transitions, episodes, actions=actions, seed=0, categorical=categorical
      )
      return found.policy, (
        'the behaviour policy, as estimated from the log (held-out log loss '
        f'{found.held_out_loss:.3f}, without the state '
        f'{found.constant_loss:.3f})'
      )
    case naming.SAVED_MODEL:
      made_here = (path / trained.RECORD).is_file()
      return continuous.load(
        path / trained.SAVED_MODEL if made_here else path,
        num_observations=num_observations,
        actions=actions,
        trusted=trusted,
      ), ''
    case naming.ONNX:
      function: Any = onnx_models.load(
        path, num_observations=num_observations, output='actions'
      )
    case _:
      function = naming.import_function(text, vectors=True)
  return _wrap(function, text, identity.sample(transitions), actions), ''


def from_object(
  policy: Any,
  name: str,
  *,
  actions: actions_lib.Continuous,
  transitions: types.Transition,
) -> types.ContinuousPolicy:
  """Returns the policy that an object of the caller is.

  Args:
    policy: a function, an object with sample and log_prob, or a
      `types.ContinuousPolicy`.
    name: for messages.
    actions: what an action is.
    transitions: the log.

  Raises:
    ValueError: it is none of these.
  """
  if isinstance(policy, types.ContinuousPolicy):
    return policy
  if isinstance(policy, vector_answers.Sampler) or callable(policy):
    return _wrap(policy, name, identity.sample(transitions), actions)
  raise ValueError(
    f'A policy over actions of {actions.size} entries is a function of '
    'observations, an object with sample and log_prob, or a name, got '
    f'{type(policy).__name__}. {naming.CHOICES}'
  )


def _wrap(
  policy: Callable[[np.ndarray], Any] | vector_answers.Sampler,
  name: str,
  observations: np.ndarray,
  actions: actions_lib.Continuous,
) -> types.ContinuousPolicy:
  """Returns the policy of code that is not ours."""
  if isinstance(policy, vector_answers.Sampler):
    return vector_functions.Sampled(policy, name=name, actions=actions)
  ask = vector_answers.asking(policy, name, actions)
  return vector_functions.Function(
    ask, actions=actions, deterministic=not ask(observations).deviation.any()
  )


def tried(
  text: str,
  policy: types.ContinuousPolicy,
  *,
  actions: actions_lib.Continuous,
  transitions: types.Transition,
) -> types.FloatArray:
  """Refuses a policy that does not give fixed actions or densities.

  Args:
    text: begins the messages.
    policy: is asked about states of the log, more than once.
    actions: what an action is.
    transitions: the log.

  Returns:
    Some of its actions, [B, K d].

  Raises:
    ValueError: its answers change, or are no actions or densities.
  """
  states = identity.sample(transitions)
  logged = identity.sample(transitions._replace(observation=transitions.action))
  draws = 1 if policy.deterministic else _DRAWS
  uniforms = (
    np.random.default_rng(0)
    .uniform(0.01, 0.99, (len(states), draws, actions.size))
    .astype(np.float32)
  )

  def draw(rows: slice) -> types.FloatArray:
    drawn = np.asarray(
      _answer(text, policy.draw, states[rows], uniforms[rows]), np.float64
    )
    if drawn.shape != uniforms[rows].shape:
      raise ValueError(
        f'{text} draws actions of shape {list(drawn.shape)}, but '
        f'{list(uniforms[rows].shape)} is wanted: actions have '
        f'{actions.size} entries.'
      )
    return vector_answers.as_actions(
      drawn.reshape(-1, actions.size),
      drawn.shape[0] * draws,
      actions,
      whose=text,
    ).reshape(drawn.shape[0], -1)

  first = draw(slice(None))
  scale = np.maximum(np.ptp(first, axis=0), 1e-3 * np.abs(first).max(axis=0))
  # A sampler's generator is seeded by the whole batch.
  alone = not isinstance(policy, vector_functions.Sampled)
  _refuse_changes(
    text,
    draw,
    first,
    answers.SUM_SLACK * scale,
    alone=alone,
    instead='Return a mean and a standard deviation, or an object with '
    'sample and log_prob that draws by its generator',
  )
  if policy.deterministic:
    return first

  def density(rows: slice) -> types.FloatArray:
    return vector_answers.as_log_densities(
      np.asarray(_answer(text, policy.log_prob, states[rows], logged[rows])),
      len(states[rows]),
      whose=text,
    )[:, None]

  densities = density(slice(None))
  _refuse_changes(
    text,
    density,
    densities,
    answers.SUM_SLACK,
    alone=True,
    instead='Return the log density of the action',
  )
  own = vector_answers.as_log_densities(
    np.asarray(
      _answer(text, policy.log_prob, states, first[:, : actions.size])
    ),
    len(states),
    whose=text,
  )
  if np.isneginf(own).any():
    row = int(np.argmax(np.isneginf(own)))
    raise ValueError(
      f'{text} draws {first[row, : actions.size].tolist()} for observation '
      f'{row} and says that it never takes it (log density -inf). Make '
      'sample and log_prob fit.'
    )
  return first


def _refuse_changes(
  text: str,
  ask: Callable[[slice], types.FloatArray],
  first: types.FloatArray,
  slack: types.FloatArray | float,
  *,
  alone: bool,
  instead: str,
) -> None:
  """Refuses answers that change with time or with the other observations."""

  def changed(rows: slice) -> np.ndarray:
    with np.errstate(invalid='ignore'):  # -inf less -inf
      change = np.abs(ask(rows) - first[rows])
    return (change > slack).any(axis=1)

  if changed(slice(None)).any():
    raise ValueError(
      f'{text} answers the same observations differently when it is asked '
      f'again. {instead}.'
    )
  if alone and np.mean(changed(slice(None, None, 2))) > answers.TIES:
    raise ValueError(
      f'{text} answers an observation differently when others are left out. '
      'Its answer must depend on the observation alone: does it normalise '
      'by the batch?'
    )


def _answer(
  text: str, ask: Callable[..., tf.Tensor], *inputs: np.ndarray
) -> tf.Tensor:
  try:
    return ask(*map(tf.constant, inputs))
  except tf.errors.OpError as error:
    raise ValueError(f'{text} failed: {user_code.line(error)}.') from error
