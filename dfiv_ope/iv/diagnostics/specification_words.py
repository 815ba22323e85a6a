"""What tests of a linear IV model mean, in sentences with a number."""

from collections.abc import Sequence

from scipy import stats

from dfiv_ope.iv.diagnostics import messages, weak_instruments
from dfiv_ope.iv.linear import (
  covariances,
  fitting,
  reset,
  results,
  specification,
)

# Of a test that refuses its null.
_LEVEL = 0.05
# So many instruments bias these by their number.
_MANY, _BIASED = 10, (fitting.TWO_SLS, fitting.GMM)
# Standard errors are too small where a slope rests on fewer rows or clusters;
# those of HC3 hold with half as many.
_FEW, _FEW_HC3 = 20.0, 10.0
# Covariances of rows that depend on each other.
_DEPENDENT = (covariances.CLUSTERED, covariances.HAC)


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
  weak = [
    each.effective_f < each.critical_values[tau] for each in found.first_stage
  ]
  words = [
    messages.strength(
      each.effective_f,
      each.critical_values[tau],
      what=name,
      linear=True,
      conditional=len(treatments) > 1,
    )
    + (f' {_instead(found)}' + many) * low
    for name, each, low in zip(treatments, found.first_stage, weak, strict=True)
  ]
  if found.exact:
    words.append(
      'Y is an exact linear function of T and X: standard errors, tests and '
      'sets are of rounding. Check whether Y was computed from T.'
    )
    return words
  words.extend(_few_units(found, treatments))
  words.append(_over_identification(found))
  words.append(_endogeneity(found, weak=any(weak)))
  words.extend(_linearity(found))
  words.extend(_interactions(found))
  return words


def _instead(found: results.LinearFit) -> str:
  """Returns what to read where instruments are weak."""
  if found.robust_sets or found.covariance_kind not in _DEPENDENT:
    return 'Read the Anderson-Rubin set instead of the interval.'
  return (
    'Neither the interval holds nor the Anderson-Rubin set, which supposes '
    'independent rows here: use fewer instruments or treatments.'
  )


def _few_units(
  found: results.LinearFit, treatments: Sequence[str]
) -> list[str]:
  kind = found.covariance_kind
  if kind == covariances.UNADJUSTED:
    return []  # It supposes that all rows tell of the noise alike.
  clustered = kind == covariances.CLUSTERED
  what, count = (
    ('clusters', found.clusters) if clustered else ('rows', found.rows)
  )
  remedy = (
    'Leave out one cluster at a time and compare'
    if clustered
    else 'Take logarithms of skewed columns, or leave out the rows that '
    'decide, and compare'
  )
  if not clustered and kind != 'HC3':
    remedy = f"Fit covariance='HC3'. {remedy}"
  return [
    f'The slope of {name} rests on few {what}: effectively on {units:.1f} of '
    f'{count}, so that standard errors ({kind}) are too small. {remedy}.'
    for name, units in zip(treatments, found.effective_units, strict=False)
    if units < (_FEW_HC3 if kind == 'HC3' else _FEW)
  ]


def _over_identification(found: results.LinearFit) -> str:
  test = _chosen(
    found, specification.OVER_IDENTIFICATION, ('Hansen J', 'Basmann F')
  )
  more = found.weak.instruments > found.treatments
  units = found.clusters or found.rows
  # However instruments disagree, a robust J is at most the number of units.
  if more and (
    test is None
    or (test.robust and stats.chi2.isf(_LEVEL, test.freedom) >= units)
  ):
    what = 'clusters' if found.clusters else 'rows'
    return (
      f'Nothing tells whether the {found.weak.instruments} instruments agree: '
      f'{units} {what} are too few. Use fewer instruments, or more {what}.'
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


def _endogeneity(found: results.LinearFit, *, weak: bool) -> str:
  test = _chosen(
    found, specification.ENDOGENEITY, ('Wooldridge regression', 'Wu-Hausman')
  )
  if test is None and any(
    each.about == specification.ENDOGENEITY for each in found.tests
  ):
    return (
      'Rows are too few to tell whether IV differs from ordinary regression.'
    )
  if test is None:
    return (
      'The treatments are their own instruments: this is ordinary regression.'
    )
  if test.p_value < _LEVEL:
    return (
      f'IV differs from ordinary regression ({test.name} '
      f'{test.statistic:.3g}, {_small(test.p_value)}): the treatment is '
      'confounded, or the instruments are invalid. Report '
      + ('a weak-instrument-robust set.' if weak else 'IV.')
    )
  return (
    f'IV does not differ from ordinary regression by more than chance '
    f'({test.name} {test.statistic:.3g}, p {test.p_value:.2f})'
    + (
      ', which weak instruments hardly tell; report both.'
      if weak
      else '. If that is plausible, ordinary regression is more precise; '
      'report both.'
    )
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
  """Returns the first test of some names that holds as the fit supposes."""
  for name in names:
    for test in found.tests:
      if (test.name, test.about) == (name, about) and (
        test.robust or found.covariance_kind == covariances.UNADJUSTED
      ):
        return test
  return None
