"""The log of `big_log.py` as a folder of Parquet or CSV files, of any size.

    python docs/results/streamed_log.py 20000000 big.parquet      # or big.csv
    PYTHONPATH=docs/results dfiv-ope evaluate big.parquet --discount 0.95 \
        --policy big_log:policy --method lstd --seeds 1 --out runs/big

Files are written one after the other, so that no more than one is in memory.
"""

import pathlib
import sys

import big_log
import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

# Rows of a file, and of its groups of rows.
_FILE, _GROUP = 1_000_000, 100_000


def write(rows: int, folder: pathlib.Path) -> None:
  """Writes a log of about so many rows."""
  folder.mkdir(parents=True)
  first = 0
  for number, start in enumerate(range(0, rows, _FILE)):
    columns = big_log.draw(min(_FILE, rows - start), seed=number)
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
      }
    )
    path = folder / f'part-{number:05d}{folder.suffix}'
    if folder.suffix == '.csv':
      csv.write_csv(table, path)
    else:
      parquet.write_table(table, path, row_group_size=_GROUP)


if __name__ == '__main__':
  write(int(sys.argv[1]), pathlib.Path(sys.argv[2]))
