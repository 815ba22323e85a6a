"""What is no dataset is refused with what to do instead, and at once."""

import pathlib
import re
import subprocess
import sys

import pytest

from dfiv_ope.datasets import finding


@pytest.fixture
def folder(tmp_path, monkeypatch):
  """A folder with two datasets, a log and something else."""
  monkeypatch.chdir(tmp_path)
  for name in ('catch', 'clinic'):
    (tmp_path / 'data' / name).mkdir(parents=True)
    (tmp_path / 'data' / name / finding.METADATA).touch()
  (tmp_path / 'data' / 'notes').mkdir()
  (tmp_path / 'log.csv').write_text('episode,action\n')
  (tmp_path / 'my log.v2.csv.gz').touch()
  (tmp_path / 'minari').mkdir()
  (tmp_path / 'minari' / 'main_data.hdf5').touch()
  return tmp_path


def test_a_dataset_is_taken(folder):
  finding.require(pathlib.Path('data/catch'))
  assert not finding.is_log(pathlib.Path('data/catch'))


@pytest.mark.parametrize(
  'path, error, words',
  [
    (
      'log.csv',
      ValueError,
      'log.csv is a log, not a dataset. Import it first: '
      'dfiv-ope dataset import log.csv --out log-dataset',
    ),
    (
      'my log.v2.csv.gz',
      ValueError,
      'my log.v2.csv.gz is a log, not a '
      "dataset. Import it first: dfiv-ope dataset import 'my log.v2.csv.gz' "
      "--out 'my log-dataset'",
    ),
    (
      'minari',
      ValueError,
      'minari is a log, not a dataset. Import it first: '
      'dfiv-ope dataset import minari --out minari-dataset',
    ),
    (
      'data/catch/metadata.json',
      ValueError,
      'data/catch/metadata.json is the '
      'record of a dataset. Name its directory: data/catch.',
    ),
    (
      'data/cathc',
      FileNotFoundError,
      'There is no dataset data/cathc: did you mean data/catch?',
    ),
    (
      'data/Clinic',
      FileNotFoundError,
      'There is no dataset data/Clinic: did you mean data/clinic?',
    ),
    (
      'data/zzz',
      FileNotFoundError,
      'There is no dataset data/zzz. The '
      'datasets beside it are catch, clinic. Make one with `dfiv-ope dataset '
      'make`, or of a log with `dfiv-ope dataset import`.',
    ),
    (
      'nowhere/catch',
      FileNotFoundError,
      'There is no dataset nowhere/catch. '
      'Make one with `dfiv-ope dataset make`, or of a log with `dfiv-ope '
      'dataset import`.',
    ),
    (
      'data/notes',
      FileNotFoundError,
      'data/notes holds no complete dataset '
      '(no metadata.json). Make one with `dfiv-ope dataset make`, or of a log '
      'with `dfiv-ope dataset import`.',
    ),
  ],
)
def test_anything_else_is_refused_with_what_to_do(folder, path, error, words):
  with pytest.raises(error, match=f'^{re.escape(words)}$'):
    finding.require(pathlib.Path(path))


def test_nothing_heavy_is_imported_to_know():
  code = (
    'import sys\nfrom dfiv_ope.datasets import finding\n'
    'print({"numpy", "pandas", "tensorflow"} & set(sys.modules))'
  )
  shown = subprocess.run(
    [sys.executable, '-c', code], capture_output=True, text=True, check=True
  )
  assert shown.stdout == 'set()\n'
