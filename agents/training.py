"""Trains a policy: rounds of acting and learning, with checkpoints.

`train` returns the policy, `write` makes its directory.
"""

from collections.abc import Callable, Mapping
import dataclasses
import json
import pathlib
import time
from typing import Any, NamedTuple

import numpy as np

from dfiv_ope import stages, types, versions, whole_files
from dfiv_ope.agents import checkpoints as checkpoints_lib
from dfiv_ope.agents import dqn, replay, td3
from dfiv_ope.agents.entries import rounds, trainers
from dfiv_ope.policies import acting, rollout, simulation, trained

_CHECKPOINTS = 20  # in a run
# A trained policy, and the uniform one beside it, are tried in at most as many
# episodes. Where actions are vectors, steps cost more: both trials together
# take about as many as the training, in no fewer episodes than that.
_TRIAL_EPISODES, _CONTINUOUS_TRIAL_EPISODES = 2_000, 200
_FEWEST_TRIAL_EPISODES = 20
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


class Algorithm(NamedTuple):
  """How an algorithm learns, explores, and writes down what it learnt."""

  learner: Callable[..., Any]
  actor: Callable[..., Any]


_ALGORITHMS = {
  dqn.Config.algorithm: Algorithm(dqn.DQNLearner, dqn.ExploringActor),
  td3.Config.algorithm: Algorithm(td3.TD3Learner, td3.ExploringActor),
}


def train(
  make_environment: rollout.MakeEnvironment,
  config: rounds.Config,
  *,
  seed: int,
  directory: pathlib.Path,
  progress: Callable[[Progress], None] | None = None,
) -> types.Policy | types.ContinuousPolicy:
  """Trains a network and returns its best policy.

  Called again with the same arguments after a kill, it goes on from the last
  checkpoint in the directory and returns the same policy.

  Args:
    make_environment: builds the environment of an episode from its seed.
    config: the hyper-parameters of DQN, or of TD3 where actions are vectors.
    seed: same seed, same policy.
    directory: where checkpoints are kept while training.
    progress: told after every round.
  """
  sizes = rollout.sizes(make_environment)
  checkpoints = checkpoints_lib.Series(
    directory, {'config': dataclasses.asdict(config), 'seed': seed}
  )
  buffer = replay.Replay(
    num_observations=sizes.num_observations,
    block=config.block,
    action_entries=sizes.continuous.size if sizes.continuous else 0,
    uses=config.uses,
    window=config.window,
    directory=directory / 'replay',
    restore_from=checkpoints.latest and checkpoints.latest / 'replay',
  )
  algorithm = _ALGORITHMS[config.algorithm]
  learner = algorithm.learner(config, buffer, sizes=sizes, seed=seed)
  actor = algorithm.actor(learner, config)
  current = learner.policy(learner.network)
  checkpoints.restore(learner)

  round_number = checkpoints.state.get('round', 0)
  transitions = saved_at = checkpoints.state.get('transitions', 0)
  while transitions < config.transitions:
    done = transitions / config.transitions
    warm = round_number >= config.warmup_rounds
    actor.begin_round(done, warm=warm)
    rollout_seed, replay_seed = np.random.SeedSequence(
      [seed, round_number]
    ).generate_state(2)
    episodes = list(
      rollout.episodes(
        make_environment,
        actor,
        seed=int(rollout_seed),
        num_episodes=config.episodes_per_round,
        copies=config.episodes_per_round,
      )
    )
    rows = _transitions(episodes, config)
    learner.scale.update(rows.observation)
    uses = buffer.add(
      rows,
      time=float(round_number),
      generator=np.random.default_rng(replay_seed),
    )
    if warm:
      learner.run(uses // config.blocks_per_batch)
    round_number += 1
    transitions += len(rows.action)
    if (
      transitions - saved_at >= config.transitions / _CHECKPOINTS
      or transitions >= config.transitions
    ):
      trial = simulation.monte_carlo(
        make_environment,
        current,
        discount=config.discount,
        seed=rollout.stream(seed, 'training trial'),
        min_episodes=config.trial_episodes,
        max_episodes=config.trial_episodes,
      )
      learner.keep_if_good(trial.mean, standard_error=trial.standard_error)
      checkpoints.save(
        learner,
        number=round_number,
        state={'round': round_number, 'transitions': transitions},
        fill=lambda path: buffer.save(path / 'replay'),
      )
      saved_at = transitions
    if progress:
      progress(
        Progress(
          transitions=transitions,
          loss=learner.loss,
          mean_return=float(np.mean([e.rewards.sum() for e in episodes])),
        )
      )
  buffer.close()
  policy: types.Policy | types.ContinuousPolicy = learner.policy(
    learner.best_network
  )
  return policy


def write(
  out: pathlib.Path,
  wanted: trainers.Training,
  *,
  make_environment: rollout.MakeEnvironment,
  progress: stages.Progress = stages.silent,
) -> Mapping[str, Any]:
  """Trains a policy, tries it in the environment and writes both down.

  Args:
    out: directory of the policy; a killed run goes on from what it left.
    wanted: what is trained.
    make_environment: builds the environment of an episode from its seed.
    progress: told of the training and of the trials.

  Returns:
    The record, which is also in the directory.
  """
  started = time.process_time()
  checkpoints = out / 'training'
  with progress(
    f'Training on {wanted.task}', wanted.config.transitions
  ) as update:
    policy = train(
      make_environment,
      wanted.config,
      seed=wanted.seed,
      directory=checkpoints,
      progress=lambda p: update(
        p.transitions, f'return so far {p.mean_return:.1f}'
      ),
    )
  cpu_seconds = time.process_time() - started

  sizes = rollout.sizes(make_environment)
  most = _TRIAL_EPISODES
  if sizes.continuous:
    affordable = wanted.config.transitions // (
      2 * simulation.horizon(_DISCOUNT)
    )
    most = int(
      np.clip(affordable, _FEWEST_TRIAL_EPISODES, _CONTINUOUS_TRIAL_EPISODES)
    )
  trials = {}
  for name, title, candidate in (
    ('value', 'Simulating the policy', policy),
    ('uniform_value', 'Simulating uniform actions', acting.uniform(sizes)),
  ):
    with progress(title, None) as update:
      trials[name] = dataclasses.asdict(
        simulation.true_value(
          make_environment,
          candidate,
          discount=_DISCOUNT,
          seed=rollout.stream(wanted.seed, 'trial'),
          max_episodes=most,
          progress=lambda n: update(n, f'{n:,} episodes'),
        )
      )
  trained.save(
    policy,
    out,
    num_observations=sizes.num_observations,
    actions=sizes.continuous,
  )
  record = {
    'schema': trained.SCHEMA,
    **wanted.request,
    'discount': _DISCOUNT,
    **trials,
    'cpu_seconds': round(cpu_seconds, 1),
    'versions': versions.versions(),
  }
  whole_files.remove(checkpoints)
  whole_files.write(out / trained.RECORD, json.dumps(record, indent=2) + '\n')
  return record


def _transitions(
  episodes: list[rollout.Episode], config: rounds.Config
) -> types.Transition:
  """Returns the n-step transitions of all episodes, one after another."""
  parts = (
    replay.n_step(episode, steps=config.n_step, discount=config.discount)
    for episode in episodes
  )
  return types.Transition(
    *(np.concatenate(column) for column in zip(*parts, strict=True))
  )
