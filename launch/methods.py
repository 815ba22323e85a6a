"""`dfiv-ope methods`: what estimators there are, and when to use which."""

import json

from dfiv_ope.launch import console, options


def methods(as_json: options.Json = False) -> None:
  """Lists all estimators, what a run costs and when to use which."""
  from dfiv_ope.launch.reporting import method_table
  if as_json:
    console.say_json(json.dumps(method_table.data(), indent=2))
  else:
    method_table.show()
