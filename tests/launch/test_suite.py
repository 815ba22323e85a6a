"""`dfiv-ope reproduce suite`: rows, resume, tables and refusals."""

import json

from dfiv_ope.cases import suite


def test_the_suite_runs_and_goes_on(command, tmp_path):
  asked = (
    'reproduce',
    'suite',
    '--cases',
    'graph-short',
    '--out',
    tmp_path / 'runs',
    '--workers',
    '1',
  )
  result = command(*asked, '--methods', 'wis')
  assert result.returncode == 0, result.stderr
  result = command(*asked, '--methods', 'wis,pdis')
  assert result.returncode == 0, result.stderr
  assert '3 of 6 runs have their rows' in result.stderr
  lines = (tmp_path / 'runs/rows.jsonl').read_text().splitlines()
  found = [json.loads(line) for line in lines]
  assert len(found) == 6
  assert {each['problem']['case'] for each in found} == {
    'graph-short',
    'graph-short-noisy',
    'graph-short-sparse',
  }
  report = tmp_path / 'runs/report'
  page = (report / 'suite.md').read_text()
  assert 'All cases, development half.' in page
  assert 'Overlap poor, all that were run.' in page
  answers = (report / 'suite_answers.csv').read_text().splitlines()
  assert len(answers) == 7
  truth = suite.CASES['graph-short'].make(0).truth
  assert any(
    line.startswith('graph-short,0,wis,finished,') and f',{truth:.6g},' in line
    for line in answers
  )
  assert 'answers are known' in (report / 'index.html').read_text()


def test_unknown_cases_are_answered_with_the_families(command, tmp_path):
  words = command.refuses(
    'reproduce', 'suite', '--cases', 'chess', '--out', tmp_path / 'runs'
  )
  assert "No case begins with 'chess'" in words and 'gridworld' in words
  assert not (tmp_path / 'runs').exists()


def test_a_plan_is_shown(command, tmp_path):
  result = command(
    'reproduce',
    'suite',
    '--cases',
    'queue',
    '--methods',
    'lstd',
    '--out',
    tmp_path / 'runs',
    '--logs',
    '2',
    '--dry-run',
  )
  assert result.returncode == 0, result.stderr
  assert 'experiments: 8 of 8 to run' in ' '.join(result.stdout.split())
