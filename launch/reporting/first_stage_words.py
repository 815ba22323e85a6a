"""What is known of the first stage of each method, in plain words."""

from collections.abc import Mapping
import math

from dfiv_ope.evaluation import doubts
from dfiv_ope.iv.diagnostics import messages
from dfiv_ope.launch.reporting import log_results, tables


def _explained(variant: str, share: float, what: str, weak: str) -> str:
  """Returns what share is explained, and why that is weak, if it is."""
  return (
    f'{variant}: states and actions explain '
    f'{tables.percent(max(share, 0.0)).text} of {what}'
    + (f', which is weak: {weak}.' if weak else '.')
  )


def sentences(case: log_results.LogResults) -> list[str]:
  """Returns what is known of the first stage, in plain words."""
  words = []
  for result in case.methods:
    share = result.metrics.get('first_stage_r2')
    if share is not None:
      words.append(
        _explained(
          result.variant,
          share,
          f'the value that follows on held-out rows{_index_f(result.metrics)}',
          'what an action leads to is mostly chance, or not in the observations'
          if weak({'': result.metrics})
          else '',
        )
      )
    share = result.metrics.get('stage1_held_out_r2')
    if share is not None:
      words.append(
        _explained(
          result.variant,
          share,
          'the next features on held-out rows',
          'what an action leads to is hardly predicted'
          if share < messages.WEAK_R2
          else '',
        )
      )
    condition = result.metrics.get('instrument_condition')
    if condition is not None:
      words.append(
        f'{result.variant}: the condition number of the features of states '
        f'and actions is {condition:.1e}'
        + (
          ', so some of them are nearly the same.'
          if condition > doubts.CONDITION
          else ', which a solve can take.'
        )
      )
  lost = case.lost_share
  if not math.isnan(lost):
    words.append(
      f'{messages.percent(lost)} of what states and actions tell of the '
      'reward lies along directions that stage 1 hardly keeps (singular '
      f'values below {messages.LOW_VALUE:g}).'
    )
  return words


def weak(named: Mapping[str, Mapping[str, float]]) -> str:
  """Returns `messages.weak_values`, where some may not be known."""
  return messages.weak_values(
    {
      name: {'first_stage_r2': math.nan, 'first_stage_f': math.nan, **metrics}
      for name, metrics in named.items()
    }
  )


def _index_f(metrics: Mapping[str, float]) -> str:
  """Returns the F of the held-out index in brackets, if it is known."""
  known = metrics.get('first_stage_f')
  return '' if known is None else f' (F of the held-out index {known:,.0f})'
