"""`dfiv-ope iv predict`: values, files, refusals."""

import csv
import io
import json

import pandas as pd
import pytest

from dfiv_ope import estimators


@pytest.mark.parametrize('file', ['sales.csv', 'sales.parquet'])
def test_predictions_are_those_of_the_estimator(
  fitted, iv_run, file, sales_rows
):
  rows = sales_rows()
  model = estimators.TwoSLS().fit(
    rows.sales, rows[['price']], Z=rows.cost, X=rows[['age']]
  )
  wanted = model.predict(rows[['price']], rows[['age']])
  text, _ = iv_run('predict', 'fitted', file)
  table = pd.read_csv(io.StringIO(text), float_precision='round_trip')
  assert list(table) == [*rows, 'prediction']
  assert table.prediction.to_numpy() == pytest.approx(wanted, abs=1e-10)
  pd.testing.assert_frame_equal(table[[*rows]], rows)
  saved = estimators.load(fitted / 'model')
  assert (
    table.prediction.tolist()
    == saved.predict(rows[['price']], rows[['age']]).tolist()
  )


def test_predictions_go_to_a_new_file_or_to_json(
  fitted, iv_run, iv_refuses, sales_rows
):
  iv_run('predict', 'fitted', 'sales.csv', '--out', 'new.csv')
  path = fitted.parent / 'new.csv'
  with path.open() as file:
    written = [float(row['prediction']) for row in csv.DictReader(file)]
  found = json.loads(iv_run('predict', 'fitted', 'sales.csv', '--json')[0])
  assert found['prediction'] == written
  assert found['rows'] == len(sales_rows())
  assert 'nothing is ever overwritten' in iv_refuses(
    'predict', 'fitted', 'sales.csv', '--out', 'new.csv'
  )
  assert "a column named 'prediction' already" in iv_refuses(
    'predict', 'fitted', 'new.csv'
  )
  path.unlink()


def test_predictions_beyond_the_fit_are_told(fitted, iv_run, sales):
  (sales / 'far.csv').write_text('age,price\n0,0\n0,1000\n')
  output, errors = iv_run('predict', 'fitted', 'far.csv')
  assert output.startswith('age,price,prediction\n0,0,')
  assert '1 of 2 rows have a value of price outside' in errors


def test_what_predictions_refuse(fitted, iv_refuses, sales):
  (sales / 'short.csv').write_text('prices\n1\n')
  assert "has no column 'price', 'age'. Did you mean 'prices'?" in iv_refuses(
    'predict', 'fitted', 'short.csv'
  )
  (sales / 'odd.csv').write_text('price,age\n1,2\n3,old\n')
  assert "odd.csv, row 3: age is 'old', which is not a number" in iv_refuses(
    'predict', 'fitted', 'odd.csv'
  )
  assert 'There is no model nowhere' in iv_refuses(
    'predict', 'nowhere', 'sales.csv'
  )
  (sales / 'empty').mkdir()
  assert 'empty is no model: summary.json is missing' in iv_refuses(
    'predict', 'empty', 'sales.csv'
  )
  (sales / 'empty/summary.json').write_text('{}')
  assert 'is not the summary of a' in iv_refuses(
    'predict', 'empty', 'sales.csv'
  )
  weights = fitted / 'model/weights.npz'
  weights.write_bytes(weights.read_bytes()[:-1])
  assert 'weights.npz is not the file that `iv fit` wrote' in iv_refuses(
    'predict', 'fitted', 'sales.csv'
  )


@pytest.mark.slow
def test_a_trained_method_is_saved_and_predicts_the_same(command, sales):
  result = command(
    'iv',
    'fit',
    'sales.csv',
    '--outcome',
    'sales',
    '--treatment',
    'price',
    '--instrument',
    'cost',
    '--method',
    'dfiv',
    '--set',
    'iterations=4',
    '--set',
    'checks=2',
    '--out',
    'trained',
    cwd=sales,
  )
  assert result.returncode == 0, result.stderr
  summary = json.loads((sales / 'trained/summary.json').read_text())
  assert any('--seed may change it' in each for each in summary['warnings'])
  level = summary['effects'][0]['levels'][0]
  (sales / 'one.csv').write_text(f'price\n{level["value"]!r}\n')
  found = command('iv', 'predict', 'trained', 'one.csv', '--json', cwd=sales)
  assert found.returncode == 0, found.stderr
  assert json.loads(found.stdout)['prediction'] == pytest.approx(
    [level['outcome']], rel=1e-5
  )
