"""What is asked of a log: a dataset, a target policy, a true value if known."""

from collections.abc import Mapping
import dataclasses
import json
import pathlib
from typing import Any

import numpy as np

from dfiv_ope import envs, types
from dfiv_ope.agents import base, fixed_features, memory
from dfiv_ope.datasets import checks, reading
from dfiv_ope.datasets import columns as columns_lib
from dfiv_ope.datasets import spec as spec_lib
from dfiv_ope.evaluation import influence
from dfiv_ope.launch import rows as rows_lib
from dfiv_ope.launch import targets, workspace
from dfiv_ope.ope import bellman, overlap
from dfiv_ope.policies import (
  cloning,
  episode_returns,
  finite,
  rollout,
  simulation,
)


class Question:
  """A dataset and a target policy: what all cells of a comparison share.

  Attributes:
    dataset: the log.
    episodes: index of the episode of each transition, [N].
    description: the `problem` of result rows.
  """

  def __init__(
      self,
      path: pathlib.Path,
      *,
      target_epsilon: float,
      out: pathlib.Path,
      truth_episodes: int = 40_000,
      policy: str | None = None,
      trust_policy: bool = False,
  ):
    """Opens a dataset and finds out the true value of the target policy.

    Args:
      path: directory of the dataset.
      target_epsilon: the target policy is the dataset's, with this
        probability of a uniform action.
      out: run directory; keeps the true value of a policy that is not the
        dataset's own.
      truth_episodes: simulate at most as many episodes for it.
      policy: another target policy, as `targets.resolve` takes it. Its true
        value is not known.
      trust_policy: load a SavedModel whatever operations it holds.
    """
    self.dataset = reading.open_dataset(path)
    steps = self.dataset.steps
    self.episodes = (np.cumsum(steps.is_first) - 1)[~steps.is_last]
    self._problem: bellman.Problem | None = None
    self._rows: types.IVBatch | None = None
    self._influences: dict[
        fixed_features.Settings, influence.Influence] = {}
    if policy is not None:
      self._ask(policy, trusted=trust_policy)
      return
    metadata = self.dataset.metadata
    own = reading.load_policy(path, metadata, trusted=trust_policy)
    if own is None or metadata.truth is None:
      raise ValueError(
          f'{path} is an imported log without a target policy. Name one with '
          f'--policy. {targets.CHOICES}')
    self._policy: types.Policy = own
    truth = metadata.truth
    description = rows_lib.describe(metadata, target_epsilon=target_epsilon)
    if target_epsilon:
      self._policy = finite.Explore(own, epsilon=target_epsilon)
      truth = self._simulate(description, out, truth_episodes)
    transitions = self.dataset.transitions
    agreement = overlap.agreement(
        self._policy.action_probabilities(transitions.observation).numpy(),
        transitions.action.numpy())
    self.description: dict[str, Any] = rows_lib.finite({
        **description, 'overlap': round(agreement, 4),
        'truth': truth.mean, 'truth_standard_error': truth.standard_error})

  def _ask(self, policy: str, *, trusted: bool) -> None:
    """Takes a user's policy and describes how the log overlaps with it."""
    metadata = self.dataset.metadata
    target = targets.resolve(
        policy, num_observations=metadata.num_observations,
        num_actions=metadata.num_actions,
        transitions=self.dataset.transitions, episodes=self.episodes,
        action_labels=metadata.action_labels, recorded=self._recorded(),
        trusted=trusted, categorical=tuple(metadata.categories))
    self._policy = target.policy
    self.description = rows_lib.describe_log(
        metadata, target=target.digest, policy=target.description)
    found = self._overlap()
    self.description |= rows_lib.finite({
        'overlap': {**dataclasses.asdict(found), 'grade': found.grade,
                    'verdict': found.verdict,
                    'warnings': found.warnings(metadata.action_labels)},
        'columns': [note._asdict() for note in checks.column_profile(
            self.dataset).notes()]})

  def pose(self) -> tuple[bellman.Problem, types.IVBatch]:
    """Returns the problem and its rows; made when first asked for."""
    if self._problem is None or self._rows is None:
      transitions = self.dataset.transitions
      self._problem = bellman.pose(
          transitions, self._policy, discount=self.description['discount'],
          num_actions=self.dataset.metadata.num_actions,
          categorical=tuple(self.dataset.metadata.categories))
      self._rows = self._problem.rows(
          transitions,
          support=self._problem.support(transitions.next_observation))
    return self._problem, self._rows

  def _recorded(self) -> tuple[np.ndarray, np.ndarray] | None:
    """Returns states and the target's probabilities there, if logged."""
    names = [f'{columns_lib.TARGET_PROBABILITY}{action}'
             for action in range(self.dataset.metadata.num_actions)]
    columns = self.dataset.annotations
    if not all(name in columns for name in names):
      return None
    return self.dataset.steps.observation, np.stack(
        [columns[name] for name in names], axis=1)

  def _overlap(self) -> overlap.Overlap:
    """Measures how far the log holds what the target policy would do."""
    transitions, actions = (
        self.dataset.transitions, self.dataset.transitions.action.numpy())
    known = self.dataset.annotations.get('behaviour_probability')
    if known is not None:
      behaviour = known[~self.dataset.steps.is_last]
    else:
      clone = cloning.clone(
          transitions, self.episodes,
          num_actions=self.dataset.metadata.num_actions, seed=0,
          categorical=tuple(self.dataset.metadata.categories)).policy
      behaviour = clone.action_probabilities(
          transitions.observation).numpy()[np.arange(len(actions)), actions]
    return overlap.measure(
        self._policy.action_probabilities(transitions.observation).numpy(),
        actions, self.episodes,
        self.pose()[1].instrument.observation.numpy(),
        behaviour=behaviour, estimated=known is None)

  @property
  def returns(self) -> types.FloatArray:
    """Discounted return of each episode, as far as it was logged, [E]."""
    rewards = self.dataset.transitions.reward.numpy().astype(np.float64)
    starts = np.flatnonzero(np.diff(self.episodes, prepend=-1))
    step = np.arange(len(rewards)) - starts[self.episodes]
    return np.bincount(
        self.episodes, weights=rewards * self.description['discount'] ** step)

  def influence(
      self, config: base.Config | None = None) -> influence.Influence:
    """Returns the episodes' influence; found out when first asked for.

    Args:
      config: of the method whose features it has; None for the default ones.
    """
    features = influence.settings(
        config, self.dataset.metadata.num_actions, rows=len(self.episodes))
    if features not in self._influences:
      problem, rows = self.pose()
      self._influences[features] = influence.Influence(
          problem, memory.InMemory(rows, batch_size=1, seed=0).parts,
          episodes=self.episodes, features=features,
          initial_observations=self.dataset.initial_observations)
    return self._influences[features]

  def _simulate(
      self, description: Mapping[str, Any], out: pathlib.Path,
      max_episodes: int,
  ) -> episode_returns.MonteCarlo:
    """Simulates the value of the target policy, or reads it back."""
    spec = self.dataset.metadata.spec
    if not isinstance(spec, spec_lib.Spec):
      raise ValueError('An imported log has no task to simulate.')
    path = rows_lib.truth_file(out, description, max_episodes=max_episodes)
    if not path.is_file():
      epsilon = description['target_epsilon']
      truth = simulation.monte_carlo(
          envs.maker(spec.task, action_noise=spec.action_noise), self._policy,
          discount=spec.discount,
          seed=rollout.stream(spec.seed, f'truth {epsilon:g}'),
          max_episodes=max_episodes)
      path.parent.mkdir(parents=True, exist_ok=True)
      workspace.write_record(path, json.dumps(dataclasses.asdict(truth)))
    return episode_returns.MonteCarlo(**json.loads(path.read_text()))
