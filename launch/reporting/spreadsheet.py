"""The rows as a table for other programs."""

import json
import math
from typing import Any

import pandas as pd

from dfiv_ope.launch.reporting import frames
from dfiv_ope.results import rows as rows_lib


def csv(parts: list[tuple[pd.DataFrame, list[rows_lib.Row]]]) -> bytes:
  """Returns every row with all that is needed to run it again."""
  made = []
  for lines, rows in parts:
    for line, row in zip(lines.to_dict('records'), rows, strict=True):
      known = {
        name: line[name]
        for name in (
          'problem',
          'digest',
          'task',
          'action_noise',
          'epsilon',
          'target_epsilon',
          'policy',
          'target',
          'discount',
          'transitions',
          'episodes',
          'truth',
          'truth_standard_error',
          'log_return',
          'log_standard_error',
          'overlap',
          'case',
          'n',
          'rho',
        )
        if name in line
      }
      made.append(
        {
          'key': row.key,
          'kind': row.problem.kind,
          **known,
          'method': line['base_method'],
          'variant': line['method'],
          'preset': row.preset,
          'custom': row.custom,
          'seed': row.seed,
          **{
            name: line[name]
            for name in (
              'estimate',
              'low',
              'high',
              'error',
              'relative_error',
              'mse',
            )
            if name in line
          },
          'outcome': row.outcome,
          'reason': row.reason,
          'cpu_seconds': row.cpu_seconds,
          **frames.diagnostics(row.metrics),
          'command': row.command,
          'config': json.dumps(row.config, sort_keys=True),
          'versions': json.dumps(row.versions, sort_keys=True),
        }
      )
  table = pd.DataFrame(made).replace([math.inf, -math.inf], math.nan)
  texts = table.select_dtypes('object').columns
  table[texts] = table[texts].map(_harmless)
  return table.to_csv(index=False).encode()


def _harmless(value: Any) -> Any:
  """Returns a text that no spreadsheet takes for a formula."""
  if isinstance(value, str) and value[:1] in ('=', '+', '-', '@', '\t', '\r'):
    return f"'{value}"
  return value
