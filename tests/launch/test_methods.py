"""The lists of methods: on the terminal, as JSON, in the docs."""

import json
import pathlib

from dfiv_ope import agents
from dfiv_ope.iv import methods
from dfiv_ope.launch.reporting import method_table

_PAGE = pathlib.Path(__file__).parents[2] / 'docs' / 'methods.md'


def test_every_method_is_listed_with_when_to_use_it(command):
  result = command('methods', '--json')
  assert result.returncode == 0, result.stderr
  found = json.loads(result.stdout)
  assert [each['name'] for each in found] == [*agents.NAMES, *methods.NAMES]
  lstd = found[0]
  entry = agents.ENTRIES['lstd']
  assert lstd['label'] == 'LSTD-Q' and lstd['family'] == 'closed form'
  assert lstd['when'] == entry.when and lstd['version'] == entry.version
  assert lstd['cpu_seconds'] == entry.seconds(entry.configs['default'])


def test_the_terminal_shows_both_tables(command):
  text = ' '.join(command('methods').stdout.split())
  assert 'Off-policy evaluation' in text
  assert 'Instrumental-variable regression' in text
  assert 'Start here: one pass over the log' in text.replace('- ', '-')


def test_the_page_of_methods_is_the_registry():
  assert method_table.markdown() in _PAGE.read_text(encoding='utf-8'), (
    'docs/methods.md is not what the registry says: write it anew from '
    'launch.reporting.method_table.markdown().'
  )
