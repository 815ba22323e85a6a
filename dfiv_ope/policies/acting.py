"""What is done alike with policies over actions of either kind.

Policies over finitely many actions are in `finite`, those whose actions are
vectors in `vector_acting`, which is made of TensorFlow and loaded where it is
needed.
"""

import pathlib
import types as python_types
from typing import TypeAlias

from dfiv_ope import actions as actions_lib
from dfiv_ope import types
from dfiv_ope.policies import finite, rollout

Policy: TypeAlias = types.Policy | types.ContinuousPolicy


def _vectors() -> python_types.ModuleType:
  from dfiv_ope.policies import vector_acting  # Imports TensorFlow.

  return vector_acting


def actor(
  policy: Policy, *, copies: int, actions: actions_lib.Continuous | None
) -> rollout.Actor:
  """Returns what draws a policy's actions in a number of slots.

  Args:
    policy: the policy to draw from.
    copies: number of slots.
    actions: what an action is if it is a vector.
  """
  if actions is None:
    assert isinstance(policy, types.Policy)
    return finite.SamplingActor(policy, copies=copies)
  assert isinstance(policy, types.ContinuousPolicy)
  return _vectors().Actor(policy, copies=copies, actions=actions)


def explore(policy: Policy, *, epsilon: float) -> Policy:
  """Returns a policy with more noise: the one that datasets are logged with.

  Args:
    policy: the target policy.
    epsilon: probability of a uniform action; of vectors, standard deviation of
      Gaussian noise that is added to the policy's own, as a part of half the
      range between the bounds. Variances add up, and the sum is clipped once.

  Raises:
    ValueError: epsilon lies outside of [0, 1], or the noise of the policy is
      not Gaussian.
  """
  if isinstance(policy, types.Policy):
    return finite.Explore(policy, epsilon=epsilon)
  return _vectors().explore(policy, epsilon=epsilon)


def uniform(sizes: rollout.Sizes) -> Policy:
  """Returns the policy that takes all actions of an environment alike."""
  if sizes.continuous is None:
    return finite.Uniform(num_actions=sizes.num_actions)
  return _vectors().uniform_vectors.Uniform(sizes.continuous)


def save(
  policy: Policy,
  path: pathlib.Path,
  *,
  num_observations: int,
  actions: actions_lib.Continuous | None,
) -> None:
  """Writes a policy as a SavedModel into a new directory.

  Args:
    policy: the policy.
    path: the directory.
    num_observations: D.
    actions: what an action is if it is a vector.
  """
  if actions is None:
    assert isinstance(policy, types.Policy)
    finite.save(policy, path, num_observations=num_observations)
  else:
    assert isinstance(policy, types.ContinuousPolicy)
    _vectors().continuous.save(
      policy, path, num_observations=num_observations, actions=actions
    )


def load(
  path: pathlib.Path,
  *,
  num_observations: int,
  num_actions: int,
  actions: actions_lib.Continuous | None = None,
  trusted: bool = False,
) -> Policy:
  """Loads a SavedModel and checks that it fits the task at hand.

  Args:
    path: the directory written by `save`.
    num_observations: D of the observations it will be asked about.
    num_actions: A of the environment; 0 if its actions are vectors.
    actions: what these are.
    trusted: load it even if its operations may do more than compute.

  Raises:
    FileNotFoundError: there is no SavedModel at the path.
    ValueError: it is not a policy, one for other observations or actions, or
      one that may do more than compute.
  """
  if actions is None:
    return finite.load(
      path,
      num_observations=num_observations,
      num_actions=num_actions,
      trusted=trusted,
    )
  return _vectors().continuous.load(
    path, num_observations=num_observations, actions=actions, trusted=trusted
  )
