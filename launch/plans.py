"""What a run would take, for `--dry-run`."""

import collections
from collections.abc import Sequence
import statistics

from dfiv_ope.launch import console
from dfiv_ope.launch.experiments import jobs, store

# A table with more lines adds up the problems of a task or a design.
_MOST_LINES = 60


def show(asked: Sequence[jobs.Job], have: store.Store) -> None:
  """Prints every job that is needed, what is there, and the CPU hours."""
  todo = have.missing(asked)
  missing = set(todo)
  every = jobs.with_parents(asked)
  known = _known_seconds(have)
  table = console.Table(boxed=False)
  for column in ('problem', 'job', 'cached', 'to run', 'CPU min'):
    table.add_column(
      column,
      no_wrap=True,
      justify=('left' if column in ('problem', 'job') else 'right'),
    )
  for (problem, name), group in _lines(every).items():
    run = [job for job in group if job in missing]
    table.add_row(
      problem,
      name,
      str(len(group) - len(run)),
      str(len(run)),
      f'{sum(_seconds(job, known)[0] for job in run) / 60.0:.1f}',
    )
  table.show()
  for kind in dict.fromkeys(job.kind for job in every):
    group = [job for job in every if job.kind == kind]
    count = sum(job in missing for job in group)
    console.say(
      f'{kind}: {count} of {len(group)} to run, {len(group) - count} cached '
      'or not needed.'
    )
  guesses = [_seconds(job, known) for job in todo]
  measured = sum(by_rows for _, by_rows in guesses)
  console.say(
    f'About {sum(seconds for seconds, _ in guesses) / 3600.0:.2f} CPU hours '
    f'in all: {measured} of {len(todo)} jobs as long as the median of stored '
    'rows of the same method and config, the others by the registry.'
  )


def _lines(every: Sequence[jobs.Job]) -> dict[tuple[str, str], list[jobs.Job]]:
  """Returns the jobs of each line of the table, by a problem and a job."""
  found = collections.defaultdict(list)
  for job in every:
    found[job.group].append(job)
  if len(found) <= _MOST_LINES:
    return found
  families: dict[tuple[str, str], list[jobs.Job]] = collections.defaultdict(
    list
  )
  places = collections.defaultdict(set)
  for (problem, name), group in found.items():
    family = problem.partition(' ')[0]
    families[family, name] += group
    places[family, name].add(problem)
  return {
    (
      f'{family}, {len(places[family, name])} problems'
      if len(places[family, name]) > 1
      else places[family, name].pop(),
      name,
    ): group
    for (family, name), group in families.items()
  }


def _known_seconds(have: store.Store) -> dict[str, float]:
  """Returns the median CPU seconds of stored rows, by method and config."""
  found: dict[str, list[float]] = collections.defaultdict(list)
  for row in have.all_rows():
    if not row.failed:
      found[row.setting].append(row.cpu_seconds)
  return {name: statistics.median(each) for name, each in found.items()}


def _seconds(job: jobs.Job, known: dict[str, float]) -> tuple[float, bool]:
  """Returns the CPU seconds of a job, and whether rows tell them."""
  if isinstance(job, jobs.Experiment) and job.setting in known:
    return known[job.setting], True
  return job.seconds, False
