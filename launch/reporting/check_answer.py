"""What `dfiv-ope dataset check` prints of a log, and of its overlap."""

from typing import Any

from dfiv_ope.datasets import log_check
from dfiv_ope.launch import console


def show(report: log_check.Report) -> None:
  """Prints what is there and what is wrong with it.

  Raises:
    ValueError: something is wrong.
  """
  if report.summary is not None:
    console.card(f'{report.kind} {report.path}', report.summary.rows())
  for sentence in [*report.sentences, *report.notes]:
    console.say(sentence)
  if not report.sound:
    raise ValueError(report.verdict)
  console.say(report.verdict)


def show_overlap(found: dict[str, Any]) -> None:
  """Prints how far a log tells what a policy would do."""
  from dfiv_ope.evaluation import policy_overlap

  console.card('Overlap', policy_overlap.card(found))
  for words in found['sentences']:
    console.say(words)
