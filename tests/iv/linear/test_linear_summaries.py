"""Tables, checks and intervals of linear estimators, in words."""

import warnings

from linearmodels.datasets import card
import numpy as np
import pytest

from dfiv_ope.iv import estimators


def test_summaries_print_the_table_of_card():
  table = card.load()
  with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    model = estimators.TwoSLS().fit(
      table['lwage'],
      table['educ'],
      Z=table[['nearc4', 'nearc2']],
      X=table[['exper', 'expersq', 'black', 'smsa', 'south']],
    )
  lines = model.summary().splitlines()
  assert lines[:2] == [
    'TwoSLS fitted to 3010 rows',
    'standard errors     robust (HC1)',
  ]
  (educ,) = (
    line.split()
    for line in lines
    if line.startswith('educ')
    and len(line.split()) == 7
    and '.' in line.split()[1]
    and line.split()[3].count('.') == 1
    and lines.index(line) < 12
  )
  found = model.coef_table().loc['educ']
  assert educ[1:] == [
    f'{found.coefficient:.5g}',
    f'{found.std_error:.5g}',
    f'{found.t:.2f}',
    f'{found.p_value:.4f}',
    f'{found.low:.5g}',
    f'{found.high:.5g}',
  ]
  latex = model.to_latex()
  assert latex.count(r'\begin{tabular}') == 4
  assert f'educ & {found.coefficient:.5g} & ' in latex
  assert r'95 \% low' in latex
  web = model.to_html()
  assert web.count('<table>') == 4
  assert f'<td>educ</td><td>{found.coefficient:.5g}</td>' in web


def test_names_are_escaped_in_tables(sales_table):
  table = sales_table().rename(columns={'price': 'a_b & <c>'})
  model = estimators.TwoSLS().fit(
    table['sales'], table[['a_b & <c>']], Z=table['cost']
  )
  assert r'a\_b \& <c> & ' in model.to_latex()
  assert '<td>a_b &amp; &lt;c&gt;</td>' in model.to_html()


@pytest.mark.parametrize(
  'changes, words',
  [
    (
      {},
      [
        'The instruments are strong enough for price: effective F ',
        'The instruments agree (Hansen J ',
        'IV differs from ordinary regression (Wooldridge regression ',
      ],
    ),
    ({'Z': 'cost'}, ['strong enough', 'as many instruments as treatments']),
    ({'Z': 'price'}, ['own instruments: this is ordinary regression.']),
    (
      {'shift': 3.0},
      [
        'The instruments contradict each other (Hansen J ',
        ', p < 0.001): at least one moves the outcome',
        'Drop instruments that may',
      ],
    ),
    (
      {'Z': 'size'},
      [
        'The instruments are weak for price: effective F ',
        'Read the Anderson-Rubin set',
        'IV does not differ from ordinary regression by more',
      ],
    ),
  ],
)
def test_checks_say_what_the_tests_mean_and_what_to_do(
  sales_table, changes, words
):
  table = sales_table(rows=2000)
  table['sales'] += changes.get('shift', 0.0) * table['tax']
  with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    model = estimators.TwoSLS().fit(
      table['sales'],
      table['price'],
      X=table[['age', 'firm', 'year']],
      Z=table[changes.get('Z', ['cost', 'tax'])],
    )
  text = '\n'.join(model.checks())
  for each in words:
    assert each in text
  assert text in model.summary()


def test_weak_instruments_that_are_many_name_estimators_for_them():
  generator = np.random.default_rng(0)
  z, hidden = generator.normal(size=(300, 30)), generator.normal(size=300)
  t = z @ np.full(30, 0.1) + hidden
  with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    words = {
      (kind, count): kind().fit(t + hidden, t, Z=z[:, :count]).checks()[0]
      for kind, count in (
        (estimators.TwoSLS, 30),
        (estimators.LIML, 30),
        (estimators.TwoSLS, 3),
      )
    }
  assert all('Read the Anderson-Rubin set' in each for each in words.values())
  assert words[estimators.TwoSLS, 30].endswith(
    ' 30 instruments bias 2SLS; LIML and CrossFitTwoSLS are hardly biased by '
    'many.'
  )
  assert 'bias 2SLS' not in words[estimators.LIML, 30]
  assert 'bias 2SLS' not in words[estimators.TwoSLS, 3]
