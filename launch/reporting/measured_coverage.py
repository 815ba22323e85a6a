"""How often the intervals of a report's methods held the truth elsewhere."""

from collections.abc import Iterable, Sequence

from dfiv_ope.launch.reporting import coverage as coverage_lib
from dfiv_ope.launch.reporting import log_results, tables
from dfiv_ope.results import rows as rows_lib


def sentences(
  methods: Iterable[log_results.MethodResult], coverage: Sequence[rows_lib.Row]
) -> list[str]:
  """Returns how often intervals as a method's held the true value.

  Args:
    methods: those that a report shows.
    coverage: rows of studies of interval coverage, of which those count that
      are made as a method's own intervals (`coverage.measured`).
  """
  return [
    f'On {study.logs:,} simulated logs of {study.task} (noise '
    f'{study.problem.action_noise:g}, number of seeds '
    f'{study.problem.seeds}), the {100 * study.level:g} % interval of '
    f'{each.variant} held the truth in {tables.percent(study.share).text}.'
    for each in methods
    for study in coverage_lib.measured(coverage, each.rows[-1])
  ]
