"""Is a lasting trait that the log does not record seen?

    python docs/results/lasting_traits.py --cases queue-far,inventory-wild
    python docs/results/lasting_traits.py --half held_out --first 500

Logs of the suite's cases with a few actions and numbers as states, each episode
with a trait u, a standard normal number that no observation shows. It adds
`pays` times the rewards' standard deviation times u to every reward (`all`), or
to that of the last action alone (`last`), and `moves` u, from -1 for the first
action to 1 for the last, to the logarithms of the behaviour policy's
probabilities. With one of the two being zero nothing is hidden, and nothing
should be said. Values are simulated with the trait. LSTD-Q, one seed.
"""

import argparse
import dataclasses
import time

import numpy as np

from dfiv_ope import agents, types
from dfiv_ope.cases import mixtures, process, suite
from dfiv_ope.evaluation import estimates, runs, trust, verdict
from dfiv_ope.ope import task as task_lib

# Episodes of a log and of a simulated value.
_EPISODES, _TRUTH_EPISODES = 200, 4_000
KINDS = {
  'all': (1.0, 1.0),
  'last': (1.0, 1.0),
  'pays only': (1.0, 0.0),
  'moves only': (0.0, 1.0),
}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class WithTrait(process.Process):
  """A process with a trait as the last column of its states.

  Attributes:
    plain: without it.
    pays: what a unit of it adds to rewards, of each action, [A].
  """

  plain: process.Process
  pays: types.FloatArray

  def start(self, count: int, generator: np.random.Generator) -> np.ndarray:
    states = self.plain.start(count, generator)
    return np.column_stack([states, generator.standard_normal(count)])

  def step(
    self, state: np.ndarray, action: np.ndarray, generator: np.random.Generator
  ) -> process.Step:
    after = self.plain.step(state[:, :-1], action, generator)
    return process.Step(
      np.column_stack([after.state, state[:, -1]]),
      after.reward + self.pays[action] * state[:, -1],
      after.ended,
    )

  def observe(self, state: np.ndarray, time: int) -> types.FloatArray:
    seen = self.plain.observe(state[:, :-1], time)
    return np.column_stack([seen, state[:, -1]])


def blind(policy: process.Policy) -> process.Policy:
  """Returns a policy that does not see the last column."""
  return lambda seen: policy(seen[:, :-1])


def moved(policy: process.Policy, moves: float, actions: int) -> process.Policy:
  """Returns a policy whose probabilities go with the last column."""
  scores = moves * np.linspace(-1.0, 1.0, actions)
  return lambda seen: mixtures.softmax(
    np.log(policy(seen[:, :-1]) + 1e-300) + seen[:, -1:] * scores
  )


def draw(name: str, kind: str, seed: int):
  """Returns a task without the trait, and the value with its error.

  Args:
    name: of the case.
    kind: of KINDS.
    seed: of the log.
  """
  setting = suite.CASES[name].setting()
  plain, (pays, moves) = setting.problem, KINDS[kind]
  size = pays * np.std(suite.CASES[name].make(seed).log.transitions.reward)
  paid = np.full(plain.num_actions, size)
  if kind == 'last':
    paid[:-1] = 0.0
  problem = WithTrait(
    plain=plain,
    pays=paid,
    discount=plain.discount,
    horizon=plain.horizon,
    complete=plain.complete,
    num_actions=plain.num_actions,
  )
  log = process.draw(
    problem,
    moved(setting.behaviour, moves, plain.num_actions),
    episodes=_EPISODES,
    seed=(19, seed, *name.encode(), *kind.encode()),
    recorded=False,
  )
  rows = log.transitions
  log = dataclasses.replace(
    log,
    transitions=rows._replace(
      observation=rows.observation[:, :-1],
      next_observation=rows.next_observation[:, :-1],
    ),
    initial_observations=log.initial_observations[:, :-1],
  )
  target = setting.target.policy
  value = process.simulate(
    problem, blind(target), episodes=_TRUTH_EPISODES, seed=(18, 4)
  )
  task = task_lib.EvaluationTask(log, task_lib.find_policy(target, log).policy)
  return task, value.mean, value.standard_error


def main() -> None:
  """Prints a line for each log."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--half', default='development')
  parser.add_argument('--cases', default='all', help='with commas')
  parser.add_argument('--kinds', default=','.join(KINDS))
  parser.add_argument('--first', type=int, default=100, help='first log seed')
  parser.add_argument('--logs', type=int, default=1)
  options = parser.parse_args()
  names = [
    name
    for text in options.cases.split(',')
    for name in suite.select(text)[0]
    if suite.CASES[name].half == options.half
    and not suite.CASES[name].facts.table
    and not suite.CASES[name].facts.vectors
  ]
  print(
    '| case | log | trait | truth | estimate | interval | holds | verdict | '
    'missing / its standard error | CPU s |\n' + '|---' * 10 + '|'
  )
  for seed in range(options.first, options.first + options.logs):
    for name in names:
      for kind in options.kinds.split(','):
        started = time.process_time()
        task, truth, error = draw(name, kind, seed)
        found = estimates.estimate(
          runs.Evaluator(task),
          'lstd',
          agents.ENTRIES['lstd'].configs['default'],
          seeds=1,
        )
        ends = found.interval(0.95)
        said = trust.judge(
          verdict.Answer(found.metrics, None, found.missing, ends),
          verdict.support(task.overlap),
        )
        low, high = (np.nan, np.nan) if ends is None else (ends.low, ends.high)
        metrics = found.metrics
        print(
          f'| {name} | {seed} | {kind} | {truth:.4g} | {found.value:.4g} | '
          f'[{low:.4g}, {high:.4g}] | '
          f'{"yes" if low - 2 * error <= truth <= high + 2 * error else "no"} '
          f'| {said.grade} | {metrics.get("trait_value", 0.0):.3g} / '
          f'{metrics.get("trait_error", 0.0):.2g} | '
          f'{time.process_time() - started:.0f} |',
          flush=True,
        )


if __name__ == '__main__':
  main()
