"""Several policies on one log of a bsuite task: values, changes, ranks.

    dfiv-ope policy train catch --seed 1 --out one
    dfiv-ope dataset make catch --out data
    python docs/results/several_policies.py values data --methods lstd,nearest
    python docs/results/several_policies.py change data --policies one
    python docs/results/several_policies.py rank data --epsilons 20

The policies are the dataset's own, and those of `--policies` (directories of
`dfiv-ope policy train`), each with further probabilities of a uniform action.
`values` prints each method's estimate, interval and verdict of each policy;
`change` the difference of every pair of policies with its paired interval;
`rank` what the policy of the greatest estimate falls short of the best one, as
a share of the range of values (regret@1). True values and differences are those
of `bsuite_values`; a pair is left out whose difference that does not know to
1 %.
"""

import argparse
import dataclasses
import itertools
import pathlib
import time

import bsuite_values
import numpy as np

import dfiv_ope
from dfiv_ope import types
from dfiv_ope.datasets import reading
from dfiv_ope.datasets import spec as spec_lib
from dfiv_ope.policies import finite, trained

# A true difference is known if its standard error is this share of it.
_KNOWN = 0.01
# The truth may lie as many of its own standard errors outside of an interval.
_SLACK = 2.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Line:
  """An estimate beside the truth.

  Attributes:
    name: of the policy, or of the pair.
    truth: what is to be found, and its standard error.
    estimate: what was found.
    interval: its ends.
    verdict: the words for the policies' estimates.
  """

  name: str
  truth: bsuite_values.Known
  estimate: float
  interval: tuple[float, float]
  verdict: str

  @property
  def off(self) -> float:
    """The error in percent of the truth's size; positive if too high."""
    return 100.0 * (self.estimate - self.truth.mean) / abs(self.truth.mean)

  @property
  def holds(self) -> bool:
    """Whether the truth lies in the interval, but for its own error."""
    low, high = self.interval
    slack = _SLACK * self.truth.standard_error
    return low - slack <= self.truth.mean <= high + slack

  def __str__(self) -> str:
    low, high = self.interval
    return (
      f'{self.name} | {self.truth.mean:.4g} ± {self.truth.standard_error:.1g} '
      f'| {self.estimate:.4g} | {self.off:+.1f} % | [{low:.4g}, {high:.4g}] | '
      f'{"yes" if self.holds else "**no**"} | {self.verdict} |'
    )


def summary(lines: list[Line]) -> str:
  """Returns how far lines are off, and how many intervals hold."""
  if not lines:
    return 'no line'
  off = np.abs([each.off for each in lines])
  trusted = [each for each in lines if each.verdict == 'trust']
  return (
    f'{len(lines)} lines: off by {np.median(off):.1f} % (median), '
    f'{np.max(off):.1f} % (largest); {np.sum(off <= 10.0)} within 10 %, '
    f'{np.sum(off <= 15.0)} within 15 %; '
    f'{sum(each.holds for each in lines)} intervals hold; "trust" wrong '
    f'{sum(not each.holds for each in trusted)} of {len(trusted)}'
  )


def epsilons(text: str) -> list[float]:
  """Returns probabilities: as they are listed, or so many from 0 to 0.95."""
  if text.isdigit() and text != '0':
    return np.linspace(0.0, 0.95, int(text)).tolist()
  return [float(each) for each in text.split(',')]


def policies(
  options: argparse.Namespace,
) -> tuple[dict[str, types.Policy], bsuite_values.Values]:
  """Returns the policies by name, and what they are worth."""
  metadata = spec_lib.read_metadata(options.data)
  bases = {'own': reading.load_policy(options.data, metadata)}
  for path in options.policies:
    bases[path.name] = trained.load(
      path,
      num_observations=metadata.num_observations,
      num_actions=metadata.num_actions,
    )
  made: dict[str, types.Policy] = {
    f'{name}+{epsilon:.2g}': finite.Explore(base, epsilon=epsilon)
    for (name, base), epsilon in itertools.product(
      bases.items(), epsilons(options.epsilons)
    )
  }
  values = bsuite_values.simulate(
    metadata.spec.task,
    made,
    action_noise=metadata.spec.action_noise,
    discount=metadata.spec.discount,
    episodes=options.truth_episodes,
    seed=metadata.spec.seed,
  )
  for name in made:
    known = values.value(name)
    print(f'{name}: {known.mean:.5g} ± {known.standard_error:.2g}', flush=True)
  return made, values


def values(options: argparse.Namespace) -> None:
  """Prints a line for each policy and method."""
  log = dfiv_ope.Log.open(options.data)
  made, truths = policies(options)
  for method, (name, policy) in itertools.product(
    options.methods.split(','), made.items()
  ):
    started = time.process_time()
    found = dfiv_ope.evaluate(log, policy, methods=method, seeds=options.seeds)
    line = Line(
      name=name,
      truth=truths.value(name),
      estimate=found.value,
      interval=tuple(found.interval()),
      verdict=found.trust().grade,
    )
    seconds = time.process_time() - started
    print(f'| {method} | {line} {seconds:.0f} CPU s |', flush=True)


def change(options: argparse.Namespace) -> None:
  """Prints a line for each pair of policies and method."""
  log = dfiv_ope.Log.open(options.data)
  made, truths = policies(options)
  for method in options.methods.split(','):
    started = time.process_time()
    found = dfiv_ope.compare(log, made, methods=method, seeds=options.seeds)
    seconds = time.process_time() - started
    grades = {name: found[name].trust().grade for name in made}
    single = [
      Line(
        name=name,
        truth=truths.value(name),
        estimate=found[name].value,
        interval=tuple(found[name].interval()),
        verdict=grades[name],
      )
      for name in made
    ]
    pairs = []
    for first, second in itertools.combinations(made, 2):
      truth = truths.difference(first, second)
      if truth.standard_error <= _KNOWN * abs(truth.mean):
        difference = found.difference(first, second)
        pairs.append(
          Line(
            name=f'{first} - {second}',
            truth=truth,
            estimate=difference.value,
            interval=tuple(difference.interval()),
            verdict=' / '.join(dict.fromkeys((grades[first], grades[second]))),
          )
        )
    for line in (*single, *pairs):
      print(f'| {method} | {line}', flush=True)
    print(f'{method}, values: {summary(single)}')
    print(f'{method}, changes: {summary(pairs)}; {seconds:.0f} CPU s')


def rank(options: argparse.Namespace) -> None:
  """Prints rank correlation and regret of each method."""
  log = dfiv_ope.Log.open(options.data)
  made, truths = policies(options)
  known = {name: truths.value(name).mean for name in made}
  for method in options.methods.split(','):
    started = time.process_time()
    found = dfiv_ope.compare(
      log, made, methods=method, seeds=options.seeds, truths=known
    )
    print(
      f'| {method} | {len(made)} policies | best {found.best} | rank '
      f'correlation {found.rank_correlation:.3f} | regret@1 '
      f'{100.0 * found.regret(1) / np.ptp(list(known.values())):.2f} % | '
      f'{time.process_time() - started:.0f} CPU s |',
      flush=True,
    )


def main() -> None:
  """Does what is asked."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('what', choices=('values', 'change', 'rank'))
  parser.add_argument('data', type=pathlib.Path)
  parser.add_argument('--policies', type=pathlib.Path, nargs='*', default=[])
  parser.add_argument(
    '--epsilons',
    default='0,0.2',
    help='of each policy, or how many between 0 and 0.95',
  )
  parser.add_argument('--methods', default='lstd')
  parser.add_argument('--seeds', type=int, default=3)
  parser.add_argument('--truth-episodes', type=int, default=40_000)
  options = parser.parse_args()
  {'values': values, 'change': change, 'rank': rank}[options.what](options)


if __name__ == '__main__':
  main()
