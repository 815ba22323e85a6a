"""What tests of a linear IV model mean, in sentences with a number."""

from collections.abc import Sequence

from dfiv_ope.iv.diagnostics import messages, weak_instruments
from dfiv_ope.iv.linear import fitting, reset, results, specification

# Of a test that refuses its null.
_LEVEL = 0.05
# So many instruments bias these by their number.
_MANY, _BIASED = 10, (fitting.TWO_SLS, fitting.GMM)


def sentences(found: results.LinearFit, treatments: Sequence[str]) -> list[str]:
  """Returns what the tests say, a sentence each.

  Args:
    found: the fitted model.
    treatments: their names.
  """
  tau = weak_instruments.TAUS.index(messages.WORST_BIAS)
  many = ''
  if found.weak.instruments >= _MANY and found.estimator in _BIASED:
    many = (
      f' {found.weak.instruments} instruments bias {found.estimator}; '
      'LIML and CrossFitTwoSLS are hardly biased by many.'
    )
  words = [
    messages.strength(
      each.effective_f,
      each.critical_values[tau],
      what=name,
      linear=True,
      conditional=len(treatments) > 1,
    )
    + (
      ' Read the Anderson-Rubin set instead of the interval.' + many
      if each.effective_f < each.critical_values[tau]
      else ''
    )
    for name, each in zip(treatments, found.first_stage, strict=True)
  ]
  if found.exact:
    words.append(
      'Y is an exact linear function of T and X: standard errors, tests and '
      'sets are of rounding. Check whether Y was computed from T.'
    )
    return words
  words.append(_over_identification(found))
  words.append(_endogeneity(found))
  words.extend(_linearity(found))
  words.extend(_interactions(found))
  return words


def _over_identification(found: results.LinearFit) -> str:
  test = _chosen(
    found, specification.OVER_IDENTIFICATION, ('Hansen J', 'Sargan')
  )
  if test is None:
    return (
      'There are as many instruments as treatments, so nothing in the '
      'data can tell whether they are valid: argue for them.'
    )
  if test.p_value < _LEVEL:
    return (
      f'The instruments contradict each other ({test.name} '
      f'{test.statistic:.3g}, {_small(test.p_value)}): at least one moves '
      'the outcome by another way, or effects differ between rows. Drop '
      'instruments that may, and compare the estimates.'
    )
  return (
    f'The instruments agree ({test.name} {test.statistic:.3g}, p '
    f'{test.p_value:.2f}); all of them could still be invalid alike.'
  )


def _endogeneity(found: results.LinearFit) -> str:
  test = _chosen(
    found, specification.ENDOGENEITY, ('Wooldridge regression', 'Wu-Hausman')
  )
  if test is None:
    return (
      'The treatments are their own instruments: this is ordinary regression.'
    )
  if test.p_value < _LEVEL:
    return (
      f'IV differs from ordinary regression ({test.name} '
      f'{test.statistic:.3g}, {_small(test.p_value)}): the treatment is '
      'confounded, or the instruments are invalid. Report IV.'
    )
  return (
    f'IV does not differ from ordinary regression by more than chance '
    f'({test.name} {test.statistic:.3g}, p {test.p_value:.2f}). If that '
    'is plausible, ordinary regression is more precise; report both.'
  )


def _linearity(found: results.LinearFit) -> list[str]:
  test = _chosen(found, reset.LINEARITY, ('RESET',))
  if test is None:
    return []
  if test.p_value < _LEVEL:
    return [
      f'A line does not fit ({test.name} {test.statistic:.3g}, '
      f'{_small(test.p_value)}): squares and cubes of what instruments and '
      'covariates predict of the treatment go with the residuals. The '
      'treatment or a covariate acts along a curve, or effects differ between '
      'rows: the slope is an average then, and its interval does not hold for '
      'a given change. Fit AutoIV, KIV or SieveIV, or add powers of treatment '
      'and covariates.'
    ]
  return [
    f'Powers of the predicted treatment add no more than chance '
    f'({test.name} {test.statistic:.3g}, p {test.p_value:.2f}): nothing speaks '
    'against a line.'
  ]


def _interactions(found: results.LinearFit) -> list[str]:
  test = _chosen(found, reset.LINEARITY, ('Interactions',))
  if test is None:
    return []
  if test.p_value < _LEVEL:
    return [
      f'The effect differs with covariates ({test.name} {test.statistic:.3g}, '
      f'{_small(test.p_value)}): products of covariates and of what the '
      'instruments move go with the residuals. The slope is an average in '
      'which rows that the instruments move more count more, and its interval '
      'does not hold for the mean effect. Fit AutoIV, KIV or SieveIV, or add '
      'products with covariates to T and to Z.'
    ]
  return [
    f'The effect does not differ with covariates by more than chance '
    f'({test.name} {test.statistic:.3g}, p {test.p_value:.2f}).'
  ]


def _small(p_value: float) -> str:
  """Returns a p value that is small enough to count."""
  return 'p < 0.001' if p_value < 0.001 else f'p {p_value:.3f}'


def _chosen(
  found: results.LinearFit, about: str, names: Sequence[str]
) -> specification.Test | None:
  """Returns the first test of some names that there is."""
  for name in names:
    for test in found.tests:
      if (test.name, test.about) == (name, about):
        return test
  return None
