"""Sweeps that are refused before anything runs."""

import pytest


@pytest.mark.parametrize(
  'text, words',
  [
    ('tasks: [catch', 'is not YAML'),
    ('- catch', 'should hold names and values'),
    ('methods: sorcery', "no method 'sorcery'. Choose from lstd, kiv"),
    ('speed: 3', 'no speed (did you mean seeds?). The keys are: tasks, noises'),
  ],
)
def test_a_file_that_is_no_grid_is_refused(command, tmp_path, text, words):
  file = tmp_path / 'grid.yaml'
  file.write_text(text)
  assert words in command.refuses('sweep', file, '--out', tmp_path / 'runs')
  assert not (tmp_path / 'runs').exists()


@pytest.mark.parametrize(
  'arguments, words',
  [
    (('no.yaml',), 'No such file'),
    (('--methods', 'sorcery'), "no method 'sorcery'"),
    (('--noises', 'much'), 'noises should be numbers'),
    (('--ray', 'somewhere'), 'host:port'),
    (('--ray', '127.0.0.1:9'), 'No Ray cluster answers at 127.0.0.1:9'),
  ],
)
def test_what_cannot_be_run_is_said(command, tmp_path, arguments, words):
  assert words in command.refuses(
    'sweep', *arguments, '--out', tmp_path / 'runs'
  )
  assert not (tmp_path / 'runs').exists()
