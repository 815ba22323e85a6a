"""The log of `big_log.py` as a folder of Parquet or CSV files, of any size.

    python docs/results/streamed_log.py 20000000 big.parquet      # or big.csv
    PYTHONPATH=docs/results dfiv-ope evaluate big.parquet --discount 0.95 \
        --policy big_log:policy --method lstd --seeds 1 --out runs/big

    python docs/results/streamed_log.py 1000000 short.parquet 5

A third number is the steps of an episode, which then terminates, with recorded
behaviour probabilities. Files are written one after the other, so that no more
than one is in memory.
"""

import pathlib
import sys

import big_log
import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

# Rows of a file, and of its groups of rows.
_FILE, _GROUP = 1_000_000, 100_000


def write(rows: int, folder: pathlib.Path, *short: int) -> None:
  """Writes a log of about so many rows.

  Args:
    rows: how many.
    folder: for the files.
    *short: steps of an episode, if it is to terminate and have probabilities.
  """
  folder.mkdir(parents=True)
  first = 0
  for number, start in enumerate(range(0, rows, _FILE)):
    columns = big_log.draw(
      min(_FILE, rows - start),
      seed=number,
      **({'steps': short[0]} if short else {}),
    )
    if short:
      columns['terminated'], columns['truncated'] = (
        columns[name] for name in ('truncated', 'terminated')
      )
    episodes = columns['episode'] + first
    first = int(episodes[-1]) + 1
    observation = columns['observation'].astype(np.float32)
    table = pa.table(
      {
        'episode': episodes,
        **{f'obs_{place}': each for place, each in enumerate(observation.T)},
        'action': columns['action'].astype(np.int8),
        'reward': columns['reward'].astype(np.float32),
        **{name: columns[name] for name in ('terminated', 'truncated')},
        **(
          {
            'behaviour_probability': big_log.behaviour(
              columns['observation'], columns['action']
            )
          }
          if short
          else {}
        ),
      }
    )
    path = folder / f'part-{number:05d}{folder.suffix}'
    if folder.suffix == '.csv':
      csv.write_csv(table, path)
    else:
      parquet.write_table(table, path, row_group_size=_GROUP)


if __name__ == '__main__':
  write(int(sys.argv[1]), pathlib.Path(sys.argv[2]), *map(int, sys.argv[3:]))
