"""The choice of a method on the page of a simulated dataset."""

import io
import pathlib

import pandas as pd

from dfiv_ope.launch.reporting import build


def test_a_selection_on_a_simulated_dataset_needs_no_policy(ope_row):
  rows = [ope_row('kiv'), ope_row('log')]
  for method, scores in (('kiv', (0.2, 0.1, 1.)), ('fqe', (0.3, 0.2, 0.))):
    rows.append(ope_row(
        method, problem={'name': 'selection'}, metrics=dict(zip(
            ('tournament', 'projected_bellman_error', 'chosen'), scores,
            strict=True))))
  files = build.files(rows, pathlib.Path('runs'))
  table = files['tables/log-selection-of-1.md'].decode()
  kiv, fqe = (next(line for line in table.splitlines() if name in line)
              for name in ('KIV', 'FQE'))
  assert '**0.2**' in kiv
  assert 'no' in fqe
  page = files['index.html'].decode()
  assert 'Choice of the method: catch-noise-0.2' in page
  assert '<h1>Off-policy evaluation: which estimator to trust</h1>' in page
  assert len(pd.read_csv(io.BytesIO(files['results.csv']))) == 4
