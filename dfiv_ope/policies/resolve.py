"""The target policy that a user names: a model, a function, or a word.

    target = resolve.resolve(
        'my_policies:cautious', num_observations=4, num_actions=2,
        transitions=log, episodes=episodes)
    target.policy.action_probabilities(s)           # [B, A]

Every policy is tried on states of the log before anything else runs. Pickles
are never loaded. A function of the user is imported, which runs its module.
"""

from collections.abc import Callable, Sequence
import pathlib
from typing import Any, NamedTuple

import numpy as np

from dfiv_ope import actions, types, user_code
from dfiv_ope.nn import tensors
from dfiv_ope.policies import (
  answers,
  cloning,
  finite,
  foreign,
  identity,
  naming,
  onnx_models,
  trained,
)

# Methods of other libraries' models that answer as a policy does.
_ANSWERING = ('predict_proba', 'predict')


class Target(NamedTuple):
  """A policy to evaluate.

  Attributes:
    policy: the policy.
    description: one line for people.
    digest: identifies what the policy does, in hexadecimal.
  """

  policy: types.Policy | types.ContinuousPolicy
  description: str
  digest: str


class _Log(NamedTuple):
  """What a policy has to fit, beside the number of entries of a state."""

  num_actions: int
  transitions: types.Transition
  episodes: np.ndarray
  action_labels: tuple[str, ...]
  recorded: tuple[np.ndarray, np.ndarray] | None
  categorical: tuple[int, ...]
  continuous: actions.Continuous | None


def resolve(
  policy: Any,
  *,
  num_observations: int,
  num_actions: int,
  transitions: types.Transition,
  episodes: np.ndarray,
  action_labels: Sequence[str] = (),
  recorded: tuple[np.ndarray, np.ndarray] | None = None,
  trusted: bool = False,
  categorical: Sequence[int] = (),
  continuous: actions.Continuous | None = None,
) -> Target:
  """Finds the policy that a user names, and tries it.

  Args:
    policy: path of a SavedModel or of an ONNX model, package.module:function,
      'uniform', 'behaviour-clone' or 'columns'; or the policy itself: a
      function of observations [B, D], which gives probabilities [B, A] or
      actions [B], or an object with `action_probabilities`. Where actions
      are vectors, the function gives these, [B, d], or a pair of means and
      standard deviations, and the object has `sample` and `log_prob`
      (`vector_answers.Sampler`) or is a `types.ContinuousPolicy`.
    num_observations: D.
    num_actions: A; 0 if actions are vectors.
    transitions: the log, N rows.
    episodes: to which episode each row belongs, [N].
    action_labels: names of the actions, if they have any.
    recorded: observations [M, D] and the target's probabilities there [M, A],
      if the log has columns of these.
    trusted: load a SavedModel whatever operations it holds.
    categorical: columns of the observations whose values are names.
    continuous: what an action is, if actions are vectors.

  Raises:
    FileNotFoundError: there is nothing at the path.
    ValueError: it is not a policy, or not one for this log.
  """
  log = _Log(
    num_actions,
    transitions,
    episodes,
    tuple(action_labels),
    recorded,
    tuple(categorical),
    continuous,
  )
  if continuous is not None:
    return _vectors(policy, log, continuous, num_observations, trusted)
  if not isinstance(policy, str):
    name = naming.of_object(policy)
    made = _object(policy, name, log)
    answer = np.asarray(
      made.action_probabilities(identity.sample(log.transitions))
    )
    target = Target(made, name, identity.digest(name, identity.rounded(answer)))
  else:
    found = identity.identify(policy, **log._asdict())
    name = policy
    made, description = _make(policy, log, num_observations, trusted)
    target = Target(made, found.description or description, found.digest)
  _try(name, made, log)
  return target._replace(policy=foreign.Normalised(made))


def _vectors(
  policy: Any,
  log: _Log,
  space: actions.Continuous,
  num_observations: int,
  trusted: bool,
) -> Target:
  """Returns a policy whose actions are vectors, tried."""
  from dfiv_ope.policies import vector_targets  # Imports TensorFlow.

  fits: dict[str, Any] = {'actions': space, 'transitions': log.transitions}
  if not isinstance(policy, str):
    name = naming.of_object(policy)
    made = vector_targets.from_object(policy, name, **fits)
    answer = vector_targets.tried(name, made, **fits)
    return Target(
      made,
      name,
      identity.digest(name, identity.rounded(identity.in_units(answer))),
    )
  found = identity.identify(policy, **log._asdict())
  made, description = vector_targets.from_name(
    policy,
    num_observations=num_observations,
    episodes=log.episodes,
    categorical=log.categorical,
    trusted=trusted,
    **fits,
  )
  vector_targets.tried(policy, made, **fits)
  return Target(made, found.description or description, found.digest)


def _make(
  text: str, log: _Log, num_observations: int, trusted: bool
) -> tuple[types.Policy, str]:
  """Returns a policy, and what is known of it only now."""
  path = pathlib.Path(text)
  match naming.kind(text):
    case naming.UNIFORM:
      return finite.Uniform(num_actions=log.num_actions), ''
    case naming.CLONE:
      found = cloning.clone(
        log.transitions,
        log.episodes,
        num_actions=log.num_actions,
        seed=0,
        categorical=log.categorical,
      )
      return found.policy, (
        'the behaviour policy, as estimated from the log (held-out log loss '
        f'{found.held_out_loss:.3f}, by frequencies '
        f'{found.constant_loss:.3f})'
      )
    case naming.COLUMNS:
      assert log.recorded is not None, 'identify refuses a log without.'
      return foreign.Recorded(*log.recorded), ''
    case naming.SAVED_MODEL:
      made_here = (path / trained.RECORD).is_file()
      return finite.load(
        path / trained.SAVED_MODEL if made_here else path,
        num_observations=num_observations,
        num_actions=log.num_actions,
        trusted=trusted,
      ), ''
    case naming.ONNX:
      return _wrap(
        onnx_models.load(path, num_observations=num_observations), text, log
      ), ''
  return _wrap(naming.import_function(text, vectors=False), text, log), ''


def _object(policy: Any, name: str, log: _Log) -> types.Policy:
  """Returns the policy that an object of the caller is."""
  ask: Any = getattr(policy, 'action_probabilities', policy)
  if tensors.is_module(policy) and isinstance(policy, types.Policy):
    return policy
  if callable(ask):
    return _wrap(ask, name, log)
  methods = [name for name in _ANSWERING if callable(getattr(policy, name, 0))]
  hint = f'Pass its method {methods[0]}. ' if methods else ''
  raise ValueError(
    f'A policy is a function of observations, an object with '
    f'action_probabilities, or a name, got {type(policy).__name__}. '
    f'{hint}{naming.CHOICES}'
  )


def _wrap(
  function: Callable[[np.ndarray], Any], name: str, log: _Log
) -> foreign.Function:
  """Returns the policy of a function that is not ours."""
  return foreign.Function(
    identity.asking(function, name, log.num_actions, log.action_labels),
    num_actions=log.num_actions,
  )


def _try(text: str, policy: types.Policy, log: _Log) -> None:
  """Refuses a policy that does not give fixed probabilities."""

  def ask(observations: np.ndarray) -> np.ndarray:
    try:
      answer = policy.action_probabilities(observations)
    except tensors.errors() as error:
      raise ValueError(f'{text} failed: {user_code.line(error)}.') from error
    return identity.probabilities(
      np.asarray(answer),
      len(observations),
      text,
      log.num_actions,
      log.action_labels,
    )

  sample = identity.sample(log.transitions)
  first = ask(sample)
  if np.abs(ask(sample) - first).max() > answers.SUM_SLACK:
    raise ValueError(
      f'{text} answers the same observations differently when it is asked '
      'again. Return the probabilities of the actions instead of drawing '
      'one of them.'
    )
  change = np.abs(ask(sample[::2]) - first[::2]).max(axis=1)
  if np.mean(change > answers.SUM_SLACK) > answers.TIES:
    raise ValueError(
      f'{text} answers an observation differently when others are left out. '
      'Its answer must depend on the observation alone: does it normalise '
      'by the batch?'
    )
