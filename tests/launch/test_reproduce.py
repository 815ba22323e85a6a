"""`dfiv-ope reproduce`: the experiments of the paper."""

import pytest


@pytest.mark.parametrize('budget, datasets, runs', [
    ('quick', 9, 216), ('full', 18, 1080)])
def test_both_configs_of_all_methods_on_all_tasks(
    command, tmp_path, budget, datasets, runs):
  result = command('reproduce', 'ope', '--budget', budget,
                   '--out', tmp_path / 'runs', '--dry-run')
  assert result.returncode == 0, result.stderr
  assert f'datasets: {datasets} of {datasets} to run' in result.stdout
  assert f'evaluations: {runs} of {runs} to run' in result.stdout
  for words in ('dfiv default', 'dfiv paper', 'kiv paper', 'fqe default'):
    assert words in result.stdout
  assert not (tmp_path / 'runs').exists()


def test_an_unknown_budget_is_refused(command, tmp_path):
  words = command.refuses(
      'reproduce', 'ope', '--budget', 'tiny', '--out', tmp_path / 'runs')
  assert "no budget 'tiny'. Choose one of quick, full." in words
