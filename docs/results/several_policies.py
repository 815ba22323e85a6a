"""Several policies on one log of a simulated task: changes of value, ranks.

    dfiv-ope dataset make catch --out data
    python docs/results/several_policies.py change data --epsilons 0,0.2,0.5
    python docs/results/several_policies.py rank data --epsilons 20

The policies are the dataset's own, and those of `--policies` (directories of
`dfiv-ope policy train`), each with further probabilities of a uniform action.
Values are simulated. `change` prints the difference of every pair that the
simulation tells apart, by each method, with its paired interval; `rank` what
the policy of the greatest estimate falls short of the best one, as a share of
the range of values (regret@1).
"""

import argparse
import itertools
import pathlib
import time

import numpy as np

import dfiv_ope
from dfiv_ope import envs
from dfiv_ope.datasets import reading
from dfiv_ope.datasets import spec as spec_lib
from dfiv_ope.policies import acting, rollout, simulation

# A difference is told apart by as many of its standard errors.
_CERTAIN = 10.0


def policies(
  options: argparse.Namespace,
) -> tuple[dict[str, acting.Policy], dict[str, tuple[float, float]]]:
  """Returns the policies by name, and their values with standard errors."""
  metadata = spec_lib.read_metadata(options.data)
  spec = metadata.spec
  bases = {'own': reading.load_policy(options.data, metadata)}
  for path in options.policies:
    bases[path.name] = acting.load(
      path,
      num_observations=metadata.num_observations,
      num_actions=metadata.num_actions,
      actions=metadata.continuous,
    )
  wanted = (
    np.linspace(0.0, 0.95, int(options.epsilons)).tolist()
    if options.epsilons.isdigit() and options.epsilons != '0'
    else list(map(float, options.epsilons.split(',')))
  )
  made, values = {}, {}
  for (name, base), epsilon in itertools.product(bases.items(), wanted):
    label = f'{name}+{epsilon:.2g}'
    made[label] = acting.explore(base, epsilon=epsilon)
    found = simulation.true_value(
      envs.maker(spec.task, action_noise=spec.action_noise),
      made[label],
      discount=spec.discount,
      max_episodes=options.truth_episodes,
      seed=rollout.stream(spec.seed, f'{label} {options.truth_episodes}'),
    )
    values[label] = found.mean, found.standard_error
    print(
      f'{label}: {found.mean:.4g} +- {found.standard_error:.2g}', flush=True
    )
  return made, values


def change(options: argparse.Namespace) -> None:
  """Prints a line for each pair of policies and method."""
  log = dfiv_ope.Log.open(options.data)
  made, values = policies(options)
  for method in options.methods.split(','):
    started = time.process_time()
    found = dfiv_ope.compare(log, made, methods=method, seeds=options.seeds)
    seconds = time.process_time() - started
    for name in made:
      low, high = found[name].interval()
      print(
        f'{method} {name}: {found[name].value:.4g} [{low:.4g}, {high:.4g}] '
        f'for {values[name][0]:.4g}, {found[name].trust().grade}'
      )
    for first, second in itertools.combinations(made, 2):
      truth = values[first][0] - values[second][0]
      error = float(np.hypot(values[first][1], values[second][1]))
      if abs(truth) < _CERTAIN * error:
        continue
      difference = found.difference(first, second)
      low, high = difference.interval()
      holds = low - 2.0 * error <= truth <= high + 2.0 * error
      off = 100.0 * (difference.value / truth - 1.0)
      print(
        f'| {method} | {first} - {second} | {truth:.4g} +- {error:.2g} | '
        f'{difference.value:.4g} | {off:+.1f} % | [{low:.4g}, {high:.4g}] | '
        f'{"yes" if holds else "no"} |',
        flush=True,
      )
    print(f'{method}: {seconds:.0f} CPU s', flush=True)


def rank(options: argparse.Namespace) -> None:
  """Prints rank correlation and regret of each method."""
  log = dfiv_ope.Log.open(options.data)
  made, values = policies(options)
  truths = {name: value for name, (value, _) in values.items()}
  for method in options.methods.split(','):
    started = time.process_time()
    found = dfiv_ope.compare(
      log, made, methods=method, seeds=options.seeds, truths=truths
    )
    print(
      f'| {method} | {len(made)} policies | best {found.best} | rank '
      f'correlation {found.rank_correlation:.3f} | regret@1 '
      f'{100.0 * found.regret(1) / np.ptp(list(truths.values())):.2f} % | '
      f'{time.process_time() - started:.0f} CPU s |',
      flush=True,
    )


def main() -> None:
  """Does what is asked."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('what', choices=('change', 'rank'))
  parser.add_argument('data', type=pathlib.Path)
  parser.add_argument('--policies', type=pathlib.Path, nargs='*', default=[])
  parser.add_argument(
    '--epsilons',
    default='0,0.2',
    help='of each policy, or how many between 0 and 0.95',
  )
  parser.add_argument('--methods', default='lstd')
  parser.add_argument('--seeds', type=int, default=3)
  parser.add_argument('--truth-episodes', type=int, default=4_000)
  options = parser.parse_args()
  {'change': change, 'rank': rank}[options.what](options)


if __name__ == '__main__':
  main()
