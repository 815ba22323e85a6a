"""Folders of files that are one log, one after the other."""

import pathlib
import re

# How names of files end, by their format.
PATTERNS = {'parquet': ('*.parquet', '*.pq'), 'csv': ('*.csv', '*.csv.gz')}


def files(folder: pathlib.Path, format_name: str) -> list[pathlib.Path]:
  """Returns the files of a log in their order: part-2 comes before part-10."""
  found = {
    path
    for each in PATTERNS[format_name]
    for path in folder.glob(each)
    if path.is_file()
  }
  return sorted(
    found,
    key=lambda path: [
      (int(each), '') if each.isdigit() else (-1, each)
      for each in re.split(r'(\d+)', path.name)
    ],
  )
