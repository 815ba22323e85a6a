"""The effects of a fit as CSV, for spreadsheets."""

from collections.abc import Mapping
import csv
import io
from typing import Any

COLUMNS = (
  'treatment',
  'quantile',
  'value',
  'base',
  'average_outcome',
  'effect',
  'effect_low',
  'effect_high',
  'plain_average_outcome',
  'plain_effect',
)


def effects_csv(summary: Mapping[str, Any]) -> bytes:
  """Returns a line for each level of each treatment, with all digits."""
  text = io.StringIO()
  writer = csv.writer(text, lineterminator='\n')
  writer.writerow(COLUMNS)
  for each in summary['effects']:
    for level in each['levels']:
      writer.writerow(
        [
          each['treatment'],
          '' if level['quantile'] is None else level['quantile'],
          level['value'],
          each['base'],
          level['outcome'],
          level['effect'],
          *(
            '' if level[name] is None else level[name]
            for name in ('low', 'high')
          ),
          level['plain_outcome'],
          level['plain_effect'],
        ]
      )
  return text.getvalue().encode()
