"""`dfiv-ope guide`: on the terminal, as JSON, in the docs."""

import json
import pathlib

from dfiv_ope.evaluation import guide
from dfiv_ope.launch.reporting import guide_table

_PAGE = pathlib.Path(__file__).parents[2] / 'docs' / 'methods.md'


def test_the_terminal_and_json_say_the_stored_results(command):
  result = command('guide')
  assert result.returncode == 0, result.stderr
  advice = guide.advise(guide.stored())
  for each in advice:
    assert each.group.split()[0] in result.stdout
  found = json.loads(command('guide', '--json').stdout)
  assert [(each['logs'], each['method']) for each in found] == [
    (each.group, each.chosen.method) for each in advice
  ]
  assert found[0]['development']['median_error'] == (
    advice[0].chosen.median_error
  )
  assert found[0]['held_out']['median_error'] == (
    advice[0].held_out.median_error
  )


def test_the_page_of_methods_has_the_guide():
  assert guide_table.markdown() in _PAGE.read_text(encoding='utf-8'), (
    'docs/methods.md is not what the stored results say: write it anew from '
    'launch.reporting.guide_table.markdown().'
  )
