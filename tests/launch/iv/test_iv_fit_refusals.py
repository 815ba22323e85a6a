"""What `dfiv-ope iv fit` refuses, in one sentence and without a trace."""

import subprocess
import sys

import pytest

ROLES = ('--outcome', 'sales', '--treatment', 'price', '--instrument', 'cost')


@pytest.mark.parametrize(
  'arguments, message',
  [
    (('nowhere.csv', *ROLES), 'There is no file nowhere.csv'),
    (('.', *ROLES), 'is a directory'),
    (('sales.csv', *ROLES, '--out', 'sales.csv'), 'sales.csv is a file'),
    (('sales.csv', *ROLES, '--out', 'sales.csv/a'), 'nothing can be written'),
    (
      (
        'sales.csv',
        '--outcome',
        'sales',
        '--treatment',
        'Prise',
        '--instrument',
        'cost',
      ),
      "sales.csv has no column 'Prise'. Did you mean 'price'? Its columns are: "
      'shop, sales, price, cost, age, promotion.',
    ),
    (
      ('sales.csv', *ROLES, '--covariate', 'cost'),
      "'cost' is named 2 times: as instrument and covariate",
    ),
    (
      ('sales.csv', *ROLES, '--treatment', 'price'),
      "'price' is named 2 times: as treatment and treatment",
    ),
    (
      ('sales.csv', *ROLES, '--covariate', 'shop'),
      "sales.csv, row 2: shop is 'shop 0', which is not a number",
    ),
    (
      ('sales.parquet', *ROLES, '--covariate', 'shop'),
      "sales.parquet, row 1: shop is 'shop 0', which is not a number",
    ),
    (('sales.csv', *ROLES, '--method', 'ols'), "There is no method 'ols'"),
    (('sales.csv', *ROLES, '--set', 'depth=3'), "no setting 'depth'"),
    (('sales.csv', *ROLES, '--seed', '-1'), '--seed must be at least 0'),
    (
      ('sales.csv', '--outcome', 'sales', '--treatment', 'price'),
      "Missing option '--instrument'",
    ),
    (('sales.csv', *ROLES, '--treatment', 'age'), 'order condition'),
    (
      ('sales.csv', *ROLES, '--weights', 'price'),
      "'price' is named 2 times: as treatment and weights",
    ),
    (
      ('sales.csv', *ROLES, '--weights', 'age'),
      'The weights age must be positive, but ',
    ),
    (
      ('sales.csv', *ROLES, '--weights', 'age', '--method', 'kiv'),
      'kiv takes no weights, got age; two_sls does',
    ),
    (('sales.csv', *ROLES, '--clusters', 'shops'), "Did you mean 'shop'?"),
    (
      ('sales.csv', *ROLES, *('--clusters', 'shop') * 2),
      'by one column or by two different ones, got shop, shop',
    ),
    (
      ('sales.csv', *ROLES, '--clusters', 'promotion', '--method', 'sieve'),
      'Clusters need at least 5 labels, but promotion has 2.',
    ),
    (
      (
        *('sales.csv', *ROLES, '--clusters', 'shop', '--clusters', 'age'),
        *('--method', 'kiv'),
      ),
      'kiv has intervals for one way of clustering, got shop and age',
    ),
  ],
)
def test_what_a_fit_refuses(iv_refuses, arguments, message):
  out = () if '--out' in arguments else ('--out', 'out')
  assert message in iv_refuses('fit', *arguments, *out)


@pytest.mark.parametrize(
  'text, message',
  [
    (
      'sales,price,cost\n1,2,3\n4,,6\n,,9\n',
      'has missing values in 2 rows (sales: 1, price: 2; the first in row 3)',
    ),
    ('sales,price,cost\n1,2,3\n4,x,6\n', "row 3: price is 'x', which is not"),
    ('sales,price,cost\n1,inf,3\n', 'row 2: price is infinite'),
    ('sales,price,cost\n1,1_0,3\n', "row 2: price is '1_0'"),
    ('sales;price;cost\n1;2;3\n', 'should be separated by commas'),
    ('sales,price,price,cost\n1,2,3,4\n', "has 2 columns named 'price'"),
    ('sales,price,cost\n', 'has no rows below its header'),
    ('sales,price,cost\n1,2\n4,5,6,7\n', 'is not CSV'),
    ('', 'is empty'),
    ('sales,price,cost\n1,2,3\n2,2,4\n3,2,5\n', 'price is 2 in every row'),
    ('sales,price,cost\n1,2,3\n2,3,3\n3,4,3\n', 'cannot move the treatment'),
    ('sales,price,cost\n1,2,3\n2,3,4\n', 'at least 4 rows'),
  ],
)
def test_tables_that_are_refused(iv_run, sales, text, message):
  (sales / 'bad.csv').write_text(text)
  _, errors = iv_run('fit', 'bad.csv', *ROLES, '--out', 'out', code=2)
  assert message in errors.splitlines()[-1]
  assert not (sales / 'out').exists()


def test_closed_forms_and_refusals_do_not_load_tensorflow(sales):
  script = (
    'import sys\nfrom dfiv_ope.launch import main\n'
    'try:\n  main.main()\nexcept SystemExit: pass\n'
    'print(*sorted({"tensorflow", "pandas"} & set(sys.modules)))'
  )
  for method, treatment, loaded in (
    ('two_sls', 'price', 'pandas'),
    ('dfiv', 'prise', ''),
  ):
    done = subprocess.run(
      [
        sys.executable,
        '-c',
        script,
        'iv',
        'fit',
        'sales.csv',
        '--outcome',
        'sales',
        '--treatment',
        treatment,
        '--instrument',
        'cost',
        '--method',
        method,
      ],
      cwd=sales,
      capture_output=True,
      text=True,
      check=True,
    )
    assert done.stdout.splitlines()[-1] == loaded, done.stderr
