"""How far to trust an estimate: a word, and the reasons for it.

    judged = trust.judge_all({'lstd': answer, 'fqe': other}, support)
    judged['lstd'].grade, judged['lstd'].reasons

The word is made of measured parts: the overlap, how far rollouts of the target
policy leave the log, what unrelated estimators say of the same value
(`evaluation.cross_checks`), whether Bellman errors depend on the past, the
effective sample size of weights, and the size of the log. An interval may be
wide and trusted: the word says whether it is to be believed. The library, the
terminal and the report all take it from here.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dfiv_ope.evaluation import doubts, reasons, verdict

TRUST, CARE, DO_NOT = GRADES = reasons.GRADES


class Trust(NamedTuple):
  """How far to trust an estimate.

  Attributes:
    grade: of GRADES.
    reasons: sentences against it; none if it is trusted.
  """

  grade: str
  reasons: tuple[str, ...] = ()


def judge_all(
  answers: Mapping[str, verdict.Answer], support: verdict.Support | None
) -> dict[str, Trust]:
  """Returns how far to trust each of several methods.

  Args:
    answers: of each method to one question, by what it is called.
    support: how far the log holds what the policy does; None if unknown.
  """
  found = {
    name: doubts.of(name, answer, support) for name, answer in answers.items()
  }
  apart = list(
    doubts.between_families(
      [
        answers[name]
        for name, against in found.items()
        if all(each.grade != DO_NOT for each in against)
      ]
    )
  )
  return {name: _trust([*found[name], *apart]) for name in answers}


def judge(answer: verdict.Answer, support: verdict.Support | None) -> Trust:
  """Returns how far to trust what a method says, alone.

  Args:
    answer: what it says.
    support: how far the log holds what the policy does; None if unknown.
  """
  return _trust(doubts.of('the method', answer, support))


def _trust(found: Sequence[reasons.Reason]) -> Trust:
  worst = max((GRADES.index(each.grade) for each in found), default=0)
  return Trust(
    GRADES[worst],
    tuple(
      each.words
      for each in sorted(found, key=lambda each: -GRADES.index(each.grade))
    ),
  )


def sentences(judged: Mapping[str, Trust]) -> list[str]:
  """Returns the verdict on each method, with its reasons.

  Args:
    judged: of each method, by what it is called.
  """
  same: dict[Trust, list[str]] = {}
  for name, found in judged.items():
    same.setdefault(found, []).append(name)
  return [_sentence(names, found) for found, names in same.items()]


def distrusted(judged: Mapping[str, Trust]) -> list[str]:
  """Returns the methods that are not to be trusted."""
  return [name for name, found in judged.items() if found.grade == DO_NOT]


def _sentence(names: Sequence[str], found: Trust) -> str:
  words = {
    TRUST: 'trust: nothing that was measured speaks against the interval.',
    CARE: 'with care.',
    DO_NOT: 'do not trust.',
  }
  return ' '.join([f'{", ".join(names)}: {words[found.grade]}', *found.reasons])
