"""DFIV on logs with a known truth, by each of its solves on the whole log.

    python dfiv_solves.py OUT DATASET...            # seeds 0 to 2
    python dfiv_solves.py OUT DATASET... --seeds 1 --form paper

The solves see the same features, so each seed is trained once, with psi(s, a)
among the instruments of stage 1 and without (the paper's form). OUT keeps the
trained networks, so that a killed run goes on.

Losses are cross-fitted: u is solved for on one half of the parts of the log and
judged on the other. `stage 2` is the loss that the agent reports, Eq. (8),
where stage 1 of the fitted half predicts the treatment; `projected` and
`tournament` are those of `evaluation.selection`: the projected Bellman error,
on random features that no solve has seen, and the score of `--method auto`.
"""

import argparse
import dataclasses
import pathlib
import time

import numpy as np
import tensorflow as tf

from dfiv_ope.agents import base, checkpoints, dfiv, fixed_features, memory
from dfiv_ope.datasets import reading
from dfiv_ope.evaluation import selection
from dfiv_ope.iv import ridge
from dfiv_ope.ope import bellman

FORMS = {True: 'included', False: 'paper'}


def learner_of(log, problem, rows, config, seed):
  """Returns the learner of a config on the rows of a log."""
  return base.OPELearner(
    dfiv.make(config, problem, seed=seed),
    problem,
    memory.InMemory(rows, batch_size=config.batch_size, seed=seed),
    initial_observations=log.initial_observations,
  )


def trained(learner, path):
  """Returns the learner after its updates, and what they took in CPU s."""
  saved = checkpoints.Series(path, {'run': path.name})
  saved.restore(learner)
  if learner.done:
    return saved.state['cpu_seconds']
  started = time.process_time()
  learner.run()
  seconds = time.process_time() - started
  saved.save(learner, number=1, state={'cpu_seconds': seconds})
  return seconds


def part_of(parts, parity):
  """Returns the rows of every other part."""
  chosen = [part for index, part in enumerate(parts()) if index % 2 == parity]
  return tf.nest.map_structure(
    lambda *each: None if each[0] is None else tf.concat(each, 0), *chosen
  )


def losses(agent, parts, configs, judge):
  """Returns stage 2, tournament and projected, cross-fitted, [3, C]."""
  halves = base.half_sums(agent._sums, parts)
  scores = []
  for half, (fitted, held_out) in enumerate((halves, halves[::-1])):
    weights = np.concatenate(
      [dfiv.stage2_weights(config, fitted) for config in configs], axis=1
    )
    rows = part_of(parts, 1 - half)
    known, change = (np.asarray(each, np.float64) for each in agent.psi(rows))
    errors = np.asarray(rows.outcome, np.float64) - (known + change) @ weights
    stage2 = [
      dfiv.held_out_loss(config, fitted, held_out) for config in configs
    ]
    scores.append(
      [
        stage2,
        *selection.judge(known @ weights, errors, judge(rows.instrument)),
      ]
    )
  return np.mean(scores, axis=0)


def run(out, dataset, seed, included):
  """Prints a line for each solve."""
  log = reading.open_dataset(dataset)
  problem = bellman.pose(
    log.transitions,
    log.policy,
    discount=log.metadata.spec.discount,
    num_actions=log.metadata.num_actions,
  )
  rows = problem.rows(
    log.transitions,
    support=problem.target.support(log.transitions.next_observation),
  )
  # Trained with the solve that hardly ever diverges.
  config = dataclasses.replace(
    dfiv.Config(), solve=dfiv.LSTD, included_instruments=included
  )
  learner = learner_of(log, problem, rows, config, seed)
  seconds = trained(learner, out / f'{dataset.name}-{FORMS[included]}-{seed}')
  agent, parts = learner.agent, learner._data.parts
  configs = [dataclasses.replace(config, solve=solve) for solve in dfiv.SOLVES]
  judge = fixed_features.make(problem, size=100, bandwidth_scale=1.0, seed=0)
  scores = losses(agent, parts, configs, judge)
  total = ridge.merge(*base.half_sums(agent._sums, parts))
  truth = log.metadata.truth.mean
  for each, stage2, tournament, projected in zip(configs, *scores, strict=True):
    agent._weights.assign(dfiv.stage2_weights(each, total))
    estimate = learner.evaluate()
    print(
      '|',
      ' | '.join(
        [
          dataset.name,
          FORMS[included],
          each.solve,
          str(seed),
          f'{estimate:.5g}'
          + ('' if problem.allows(estimate) else ' (diverged)'),
          f'{100.0 * abs(estimate - truth) / abs(truth):.2f}',
          f'{stage2:.6g}',
          f'{projected:.4g}',
          f'{tournament:.4g}',
          f'{seconds:.0f}',
        ]
      ),
      '|',
      flush=True,
    )


def main():
  """Prints a table of all datasets."""
  parser = argparse.ArgumentParser()
  parser.add_argument('out', type=pathlib.Path)
  parser.add_argument('datasets', type=pathlib.Path, nargs='+')
  parser.add_argument('--seeds', type=int, default=3)
  parser.add_argument('--form', choices=FORMS.values(), action='append')
  asked = parser.parse_args()
  asked.out.mkdir(parents=True, exist_ok=True)
  print(
    '| log | stage 1 | solve | seed | estimate | error in % | stage 2 '
    '| projected | tournament | CPU s |'
  )
  print('|---' * 10 + '|')
  for included in (
    each for each, form in FORMS.items() if form in (asked.form or [form])
  ):
    for seed in range(asked.seeds):
      for dataset in asked.datasets:
        run(asked.out, dataset, seed, included)


if __name__ == '__main__':
  main()
