"""`dfiv-ope methods` and `guide`: what estimators there are, and which when."""

import json

from dfiv_ope.launch import console, options


def methods(as_json: options.Json = False) -> None:
  """Lists all estimators, what a run costs and when to use which."""
  from dfiv_ope.launch.reporting import method_table

  if as_json:
    console.say_json(json.dumps(method_table.data(), indent=2))
  else:
    method_table.show()


def guide(as_json: options.Json = False) -> None:
  """Says which estimator to try first on which logs, with what it measured.

  The numbers are those of `dfiv-ope reproduce suite`.
  """
  from dfiv_ope.launch.reporting import guide_table

  if as_json:
    console.say_json(json.dumps(guide_table.data(), indent=2))
  else:
    guide_table.show()
