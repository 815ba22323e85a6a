"""Trains a policy with DQN: rounds of acting and learning, with checkpoints.

`train` returns the policy, `write` makes its directory.
"""

from collections.abc import Callable, Mapping
import dataclasses
import json
import pathlib
import time
from typing import Any

import numpy as np
import tensorflow as tf

from dfiv_ope import stages, types, versions, whole_files
from dfiv_ope.agents import checkpoints as checkpoints_lib
from dfiv_ope.agents import dqn, replay
from dfiv_ope.policies import finite, rollout, simulation, trained

_CHECKPOINTS = 20  # in a run
# A trained policy, and the uniform one beside it, are tried in a thousand
# episodes, and in more, up to this number, where returns are noisy.
_TRIAL_EPISODES = 10_000
_DISCOUNT = 0.99


@dataclasses.dataclass(frozen=True, kw_only=True)
class Progress:
  """How far a training run has come.

  Attributes:
    transitions: environment steps so far.
    mean_return: undiscounted return of the last round's exploring episodes.
    loss: mean loss of the last round's updates.
  """
  transitions: int
  mean_return: float
  loss: float


class ExploringActor:
  """Epsilon-greedy with exploratory actions that are held for a while.

  A random action that lasts a single step hardly moves a heavy car; held for a
  geometric number of steps it does (Dabney et al., 2021).
  """

  def __init__(
      self, q_network: dqn.QNetwork, *, copies: int, num_actions: int,
      hold: float):
    self.epsilon = 1.
    self._values = tf.function(q_network)
    self._num_actions = num_actions
    self._hold = hold
    self._generators = [np.random.default_rng(0)] * copies
    self._held: list[int | None] = [None] * copies

  def begin(self, slot: int, seed: int) -> None:
    self._generators[slot] = np.random.default_rng(seed)
    self._held[slot] = None

  def act(self, observations: np.ndarray, slots: list[int]) -> np.ndarray:
    values = self._values(tf.constant(observations)).numpy()
    actions = np.argmax(values, axis=1).astype(np.int32)
    for slot in slots:
      generator = self._generators[slot]
      if self._held[slot] is None or generator.random() >= self._hold:
        explores = generator.random() < self.epsilon
        self._held[slot] = (
            int(generator.integers(self._num_actions)) if explores else None)
      if self._held[slot] is not None:
        actions[slot] = self._held[slot]
    return actions


def train(
    make_environment: rollout.MakeEnvironment,
    config: dqn.Config,
    *,
    seed: int,
    directory: pathlib.Path,
    progress: Callable[[Progress], None] | None = None,
) -> finite.Greedy:
  """Trains a Q-network and returns its best greedy policy.

  Called again with the same arguments after a kill, it goes on from the last
  checkpoint in the directory and returns the same policy.

  Args:
    make_environment: builds the environment of an episode from its seed.
    config: the hyper-parameters.
    seed: same seed, same policy.
    directory: where checkpoints are kept while training.
    progress: told after every round.
  """
  num_observations, num_actions = rollout.sizes(make_environment)
  checkpoints = checkpoints_lib.Series(
      directory, {'config': dataclasses.asdict(config), 'seed': seed})
  buffer = replay.Replay(
      num_observations=num_observations, block=config.block, uses=config.uses,
      window=config.window, directory=directory / 'replay',
      restore_from=checkpoints.latest and checkpoints.latest / 'replay')
  learner = dqn.DQNLearner(
      config, buffer, num_observations=num_observations,
      num_actions=num_actions, seed=seed)
  actor = ExploringActor(
      learner.q_network, copies=config.episodes_per_round,
      num_actions=num_actions, hold=config.hold)
  greedy = finite.Greedy(
      learner.q_network, num_observations=num_observations)
  checkpoints.restore(learner)

  round_number = checkpoints.state.get('round', 0)
  transitions = saved_at = checkpoints.state.get('transitions', 0)
  while transitions < config.transitions:
    done = transitions / config.transitions
    warm = round_number >= config.warmup_rounds
    actor.epsilon = max(config.epsilon, 1. - 2. * done) if warm else 1.
    rollout_seed, replay_seed = np.random.SeedSequence(
        [seed, round_number]).generate_state(2)
    episodes = list(rollout.episodes(
        make_environment, actor, seed=int(rollout_seed),
        num_episodes=config.episodes_per_round,
        copies=config.episodes_per_round))
    rows = _transitions(episodes, config)
    learner.scale.update(rows.observation)
    uses = buffer.add(
        rows, time=float(round_number),
        generator=np.random.default_rng(replay_seed))
    if warm:
      learner.run(uses // config.blocks_per_batch)
    round_number += 1
    transitions += len(rows.action)
    if (transitions - saved_at >= config.transitions / _CHECKPOINTS
        or transitions >= config.transitions):
      trial = simulation.monte_carlo(
          make_environment, greedy, discount=config.discount,
          seed=rollout.stream(seed, 'training trial'),
          min_episodes=config.trial_episodes,
          max_episodes=config.trial_episodes)
      learner.keep_if_good(trial.mean, standard_error=trial.standard_error)
      checkpoints.save(
          learner, number=round_number,
          state={'round': round_number, 'transitions': transitions},
          fill=lambda path: buffer.save(path / 'replay'))
      saved_at = transitions
    if progress:
      progress(Progress(
          transitions=transitions, loss=learner.loss,
          mean_return=float(np.mean([e.rewards.sum() for e in episodes]))))
  buffer.close()
  return finite.Greedy(
      learner.best_network, num_observations=num_observations)


def request(
    task: str, action_noise: float, seed: int, config: dqn.Config,
) -> dict[str, Any]:
  """Returns what identifies a training job."""
  return {
      'task': task, 'action_noise': action_noise, 'seed': seed,
      'dqn': dataclasses.asdict(config)}


def write(
    out: pathlib.Path,
    *,
    make_environment: rollout.MakeEnvironment,
    task: str,
    action_noise: float,
    seed: int,
    config: dqn.Config,
    progress: stages.Progress = stages.silent,
) -> Mapping[str, Any]:
  """Trains a policy, tries it in the environment and writes both down.

  Args:
    out: directory of the policy; a killed run goes on from what it left.
    make_environment: builds the environment of an episode from its seed.
    task: name of the environment, for the record.
    action_noise: of the environment, for the record.
    seed: same seed, same policy.
    config: the hyper-parameters.
    progress: told of the training and of the trials.

  Returns:
    The record, which is also in the directory.
  """
  started = time.process_time()
  checkpoints = out / 'training'
  with progress(f'Training on {task}', config.transitions) as update:
    policy = train(
        make_environment, config, seed=seed, directory=checkpoints,
        progress=lambda p: update(
            p.transitions, f'return so far {p.mean_return:.1f}'))
  cpu_seconds = time.process_time() - started

  num_observations, num_actions = rollout.sizes(make_environment)
  trials = {}
  for name, title, candidate in (
      ('value', 'Simulating the policy', policy),
      ('uniform_value', 'Simulating uniform actions',
       finite.Uniform(num_actions=num_actions))):
    with progress(title, None) as update:
      trials[name] = dataclasses.asdict(simulation.monte_carlo(
          make_environment, candidate, discount=_DISCOUNT,
          seed=rollout.stream(seed, 'trial'),
          max_episodes=_TRIAL_EPISODES,
          progress=lambda n: update(n, f'{n:,} episodes')))
  finite.save(
      policy, out / trained.SAVED_MODEL, num_observations=num_observations)
  record = {
      'schema': trained.SCHEMA,
      **request(task, action_noise, seed, config),
      'discount': _DISCOUNT, **trials,
      'cpu_seconds': round(cpu_seconds, 1),
      'versions': versions.versions()}
  whole_files.remove(checkpoints)
  whole_files.write(
      out / trained.RECORD, json.dumps(record, indent=2) + '\n')
  return record


def _transitions(
    episodes: list[rollout.Episode], config: dqn.Config) -> types.Transition:
  """Returns the n-step transitions of all episodes, one after another."""
  parts = (
      replay.n_step(episode, steps=config.n_step, discount=config.discount)
      for episode in episodes)
  return types.Transition(
      *(np.concatenate(column) for column in zip(*parts, strict=True)))
