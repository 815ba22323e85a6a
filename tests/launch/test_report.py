"""`dfiv-ope report`: from rows to tables, figures and a page."""

import dataclasses
import io
import json
import math
import re

import numpy as np
import pandas as pd
import pytest
import typer
from typer import testing

from dfiv_ope import atomic_output
from dfiv_ope.evaluation import row_intervals
from dfiv_ope.launch import report as report_command
from dfiv_ope.launch.reporting import build
from dfiv_ope.results import files as row_files
from dfiv_ope.results import rows as rows_lib

HOSTILE = '[x](y) </script><script>alert(1)</script> | & $x_1$ 100%'
ERRORS = {'kiv': 0.01, 'dfiv': 0.04, 'fqe': 0.1}


@pytest.fixture(scope='module')
def rows(ope_row):
  """Three tasks, three noises, four methods; one run diverged."""
  made = []
  for task in ('catch', 'mountain_car', 'cartpole'):
    for noise in (0.0, 0.2, 0.5):
      made.append(ope_row('log', task, noise, relative=0.2, cpu_seconds=0.0))
      made += [
        ope_row(method, task, noise, seed, relative=(seed + 1) * error)
        for method, error in ERRORS.items()
        for seed in (0, 1)
      ]
  bad = next(
    index
    for index, row in enumerate(made)
    if (row.method, row.problem.task, row.problem.action_noise, row.seed)
    == ('fqe', 'cartpole', 0.5, 1)
  )
  made[bad] = dataclasses.replace(
    made[bad], metrics={}, outcome='diverged', reason=HOSTILE
  )
  first = next(row for row in made if row.method == 'dfiv')
  made[made.index(first)] = dataclasses.replace(
    first,
    metrics={**first.metrics, 'held_out_stage1_r2': 0.75},
    curves={'updates': (10.0, 20.0, 30.0), 'estimate': (0.1, None, 0.52)},
  )
  return made


@pytest.fixture(scope='module')
def runs(rows, tmp_path_factory):
  directory = tmp_path_factory.mktemp('runs')
  for row in rows:
    row_files.append(directory, row)
  with (directory / 'rows.jsonl').open('a') as file:
    file.write('{"problem": {"na')  # Cut off by a kill.
  return directory


def run(*arguments):
  """Runs the command as the command line does; raises what it refuses."""
  app = typer.Typer()
  app.command()(report_command.report)
  done = testing.CliRunner().invoke(app, [*map(str, arguments)])
  if done.exception:
    raise done.exception
  return done.stdout


@pytest.fixture(scope='module')
def report(runs, tmp_path_factory):
  out = tmp_path_factory.mktemp('reports') / 'report'
  assert run(runs, '--out', out).strip().endswith('index.html')
  return out


def _lines(report, name):
  """Returns the lines of a Markdown table by their first cell."""
  text = (report / 'tables' / f'{name}.md').read_text()
  cells = [
    line.strip('| ').split(' | ')
    for line in text.splitlines()
    if line.startswith('| ')
  ]
  return {line[0]: dict(zip(cells[0], line, strict=True)) for line in cells[1:]}


def test_every_kind_of_file_is_there(report):
  names = {
    str(path.relative_to(report))
    for path in report.rglob('*')
    if path.is_file()
  }
  for name in ('errors', 'estimates', 'time', 'curves'):
    assert {f'figures/{name}.svg', f'figures/{name}.png'} <= names
  for name in (
    'best',
    'methods',
    'error-catch',
    'relative-error-mountain_car',
    'improvement',
    'families',
    'datasets',
    'held-out',
    'divergences',
  ):
    assert {f'tables/{name}.md', f'tables/{name}.tex'} <= names
  assert {'index.html', 'results.csv', 'report.json'} <= names
  assert not [name for name in names if name.endswith('.partial')]


def test_the_csv_has_every_row_and_what_remakes_it(report, rows):
  table = pd.read_csv(report / 'results.csv')
  assert len(table) == len(rows) == 63
  row = table[
    (table.variant == 'KIV')
    & (table.task == 'catch')
    & (table.action_noise == 0.2)
    & (table.seed == 1)
  ].iloc[0]
  assert row.estimate == pytest.approx(0.51)
  assert row.error == pytest.approx(0.01)
  assert row.relative_error == pytest.approx(0.02)
  assert row.truth_standard_error == 0.0005
  assert row.command == 'dfiv-ope evaluate data/catch --method kiv'
  assert json.loads(row.config) == {'type': 'Config', 'width': 50}
  assert json.loads(row.versions) == {'dfiv-ope': '0.1.0'}
  assert row.key in {each.key for each in rows}
  assert len(row.digest) == 64


def test_the_csv_has_the_intervals_of_the_runs(ope_row):
  rows = [
    ope_row(
      method,
      noise=noise,
      seed=seed,
      resamples=tuple(
        (0.01 * (place + 1) * np.linspace(-1.0, 1.0, 51)).tolist()
      ),
      metrics={'estimate': 0.5 + 0.01 * seed, 'correction': 0.0},
    )
    for place, method in enumerate(('kiv', 'fqe'))
    for noise in (0.0, 0.2)
    for seed in (0, 1)
  ]
  rows[0] = dataclasses.replace(
    rows[0], metrics={}, resamples=(), outcome='diverged', reason='far'
  )
  rows.append(ope_row('log'))
  table = pd.read_csv(
    io.BytesIO(build.files(rows, 'runs')['results.csv'])
  ).set_index('key')
  for method in ('kiv', 'fqe'):
    for noise in (0.0, 0.2):
      ours = [
        row
        for row in rows
        if row.method == method and row.problem.action_noise == noise
      ]
      found = row_intervals.of(ours, level=0.95)
      for row in ours:
        ends = table.loc[row.key, ['low', 'high']].tolist()
        if row.failed:
          assert all(map(math.isnan, ends))
        else:
          assert ends == pytest.approx([found.low, found.high])
  assert table.loc[rows[-1].key, ['low', 'high']].tolist() == pytest.approx(
    row_intervals.of_log(rows[-1].problem, level=0.95)
  )


def test_a_divergence_is_listed_and_has_no_error(report):
  table = pd.read_csv(report / 'results.csv')
  failed = table[table.outcome == 'diverged']
  assert len(failed) == 1
  assert failed.reason.item() == HOSTILE
  assert math.isnan(failed.error.item())
  text = (report / 'tables/divergences.md').read_text()
  assert text.startswith('1 of 63 runs have no result to trust.')
  assert 'cartpole-noise-0.5' in text


def test_a_divergence_is_never_averaged_away(report):
  methods = _lines(report, 'methods')
  assert methods['FQE']['diverged'] == '1'
  assert methods['FQE']['runs'] == '18'
  # Nine errors of 10 % and eight of 20 %; the middle ten are five of each.
  assert methods['FQE']['error, all tasks'].startswith('15.0 % [')
  # On cartpole 10 10 | 10 20 | 20 inf.
  assert methods['FQE']['error, cartpole'].startswith('15.0 % [10.0, ∞]')
  errors = _lines(report, 'relative-error-cartpole')
  assert errors['FQE']['noise 0.5'] == '10.0 % (1 of 2 diverged)'
  assert errors['FQE']['noise 0.2'] == '15.0 ± 7.1 %'


def test_the_best_method_is_named_for_each_task_and_overall(report):
  best = _lines(report, 'best')
  assert list(best) == ['cartpole', 'catch', 'mountain\\_car', 'all tasks']
  for line in best.values():
    assert line['best'] == '**KIV**'
    assert line['next'] == 'DFIV'
    assert line['error of the log'] == '20.0 %'
    # Seeds 1 % and 2 % against 4 % and 8 %.
    assert line['P(best beats next)'] == '1.00'
  assert best['all tasks']['its error (IQM)'].startswith('1.50 % [')


def test_improvement_counts_pairs_of_runs(report):
  lines = _lines(report, 'improvement')
  # FQE has 10 % and 20 % where the log has 20 %: a win and a tie, except for
  # one divergence: (8 * 0.75 + 0.5) / 9.
  assert lines['FQE']['Log (naive)'].startswith('0.72 [')
  assert lines['Log (naive)']['FQE'].startswith('0.28 [')
  assert lines['KIV']['KIV'] == '–'


def test_families_and_diagnostics_are_shown(report):
  line = _lines(report, 'families')['catch-noise-0.2-epsilon-0p2-20000-seed-0']
  # Medians of 0.505 and 0.51, of 0.52 and 0.54, and of 0.55 and 0.6.
  assert [line[name] for name in ('closed form', 'neural IV', 'FQE')] == [
    '0.508',
    '0.53',
    '0.575',
  ]
  assert line['gap'] == '12.7 %'
  assert line['truth ± s.e.'] == '0.500 ± 0.001'
  assert _lines(report, 'held-out')['DFIV']['held out stage1 r2'] == '0.75'
  dataset = next(iter(_lines(report, 'datasets').values()))
  assert dataset['transitions'] == '20,007'
  assert dataset['overlap'] == '0.87'


def test_tables_are_fit_for_a_paper(report):
  text = (report / 'tables/best.tex').read_text()
  assert r'\begin{tabular}{llrlrrr}' in text
  assert r'mountain\_car & \textbf{KIV} & 1.50 \% [' in text
  text = (report / 'tables/divergences.tex').read_text()
  assert r'\& \$x\_1\$ 100\% \\' in text
  assert '<' not in text
  text = (report / 'tables/divergences.md').read_text()
  assert r'[x\](y) &lt;/script>' in text
  assert r'&lt;script>alert(1)&lt;/script> \| &amp; $x\_1$ 100%' in text


def test_figures_are_drawn(report):
  for path in (report / 'figures').glob('*.png'):
    assert path.read_bytes().startswith(b'\x89PNG')
  text = (report / 'figures/errors.svg').read_text()
  for words in (
    'catch',
    'mountain_car',
    'noise 0.5',
    'DFIV',
    'Log (naive)',
    'relative error',
  ):
    assert f'>{words}<' in text


def test_the_page_needs_no_network_and_takes_no_text_for_markup(report):
  page = (report / 'index.html').read_text()
  assert 'http:' not in page
  assert 'https:' not in page
  assert '<link' not in page
  assert 'alert(1)</script>' not in page
  assert '[x](y) &lt;/script&gt;&lt;script&gt;alert(1)' in page
  assert "default-src 'none'" in page
  assert page.count('<figure class="chart"') == 3 * 3  # Three a task.
  assert page.count('<svg viewBox') == 1  # One panel of learning curves.
  data = json.loads(
    re.search(
      r'<script type="application/json" id="data">(.*?)</script>',
      page,
      re.DOTALL,
    )[1]
  )
  assert len(data['rows']) == 63
  assert len(data['configs']) == len(data['versions']) == 1
  assert len(data['problems']) == 9
  assert HOSTILE in json.dumps(data, ensure_ascii=False)


def test_the_page_is_marked_up_for_all_readers(report):
  page = (report / 'index.html').read_text()
  assert '<html lang="en">' in page
  assert 'href="#content">Skip' in page
  assert page.count('<table') == page.count('<caption') >= 14
  drawings = re.findall(r'<svg[^>]*>', page)
  # What is drawn of a chart stands beside it as text.
  assert all(
    'aria-hidden="true"' in each
    or 'class="track"' in each
    or 'role="img"' in each
    and 'aria-label="' in each
    for each in drawings
  )
  assert '<span class="sr narrow">noise 0.5: 10 %, 1 of 2 diverged</span>' in (
    page
  )
  names = re.findall(r'\bid="([^"]+)"', page)
  assert len(names) == len(set(names))
  links = re.findall(r'href="#([^"]+)"', page)
  assert set(links) <= set(names)


def test_the_same_rows_make_the_same_report(rows):
  few = [row for row in rows if row.problem.task == 'catch']
  assert build.files(few, 'runs') == build.files(few, 'runs')


def test_a_report_replaces_its_own_files_and_nothing_else(
  report, ope_row, tmp_path
):
  out, runs = tmp_path / 'out', tmp_path / 'runs'
  for seed in (0, 1):
    row_files.append(runs, ope_row(task='catch', seed=seed))
  run(runs, '--out', out)
  (out / 'notes.txt').write_text('mine')
  (runs / 'rows.jsonl').unlink()
  row_files.append(runs, ope_row(task='cartpole'))
  run(runs, '--out', out)
  assert (out / 'notes.txt').read_text() == 'mine'
  assert 'cartpole' in (out / 'tables/datasets.md').read_text()
  assert (out / 'tables/estimates.md').is_file()
  assert not (out / 'tables/best.md').exists()


def test_of_many_problems_estimates_are_shown_at_a_middle_noise(report):
  page = (report / 'index.html').read_text()
  assert page.split('<section id="')[1].startswith('answer"')
  assert page.index('id="errors-1"') < page.index('<nav')
  assert '>Estimates at a middle noise</h2>' in page
  for task in ('catch', 'mountain_car', 'cartpole'):
    assert (report / f'tables/estimates-{task}-noise-0-2.md').is_file()
  drawing = (report / 'figures/estimates.svg').read_text()
  assert '>catch, noise 0.2<' in drawing and '>true value 100<' in drawing


def test_one_discount_has_no_label(report):
  page = (report / 'index.html').read_text()
  assert ', discount' not in page
  assert '["discount","discount","number"]' not in page


def test_rows_of_an_older_version_are_refused(ope_row, tmp_path):
  line = {**rows_lib.encode(ope_row()), 'format': 2}
  (tmp_path / 'rows.jsonl').write_text(json.dumps(line) + '\n')
  with pytest.raises(
    ValueError, match=('was written by another version of dfiv-ope')
  ):
    run(tmp_path, '--out', tmp_path / 'report')
  assert not (tmp_path / 'report').exists()


def test_rows_of_several_directories_stand_on_one_page(ope_row, tmp_path):
  row_files.append(tmp_path / 'a', ope_row('kiv', relative=0.1))
  row_files.append(tmp_path / 'b', ope_row('fqe'))
  # The same run again: the last one counts.
  row_files.append(tmp_path / 'b', ope_row('kiv', relative=0.3))
  run(tmp_path / 'a', tmp_path / 'b', '--out', tmp_path / 'out')
  table = pd.read_csv(tmp_path / 'out/results.csv')
  assert sorted(zip(table.method, table.relative_error, strict=True)) == [
    ('fqe', pytest.approx(0.01)),
    ('kiv', pytest.approx(0.3)),
  ]
  page = (tmp_path / 'out/index.html').read_text()
  assert f'<dd>{tmp_path / "a"}, {tmp_path / "b"}</dd>' in page


@pytest.mark.parametrize(
  'change, message',
  [
    (None, 'has no result rows'),
    ({}, 'has no complete result row yet'),
    ({'novelty': 1}, 'Line 1 of .* is not a result row of this version'),
    ({'problem': {'kind': 'chess'}}, "is of the kind 'chess', but only"),
    (
      {'problem': {'kind': 'simulated_task', 'task': 'catch'}},
      "Line 1 .*problem misses a field .*'digest', 'discount'",
    ),
    ({'metrics': [1]}, r'Line 1 .*metrics should be'),
    ({'metrics': {'estimate': 'abc'}}, r'Line 1 .*metrics.estimate .*Remove'),
    (
      {'metrics': {'estimate': math.nan}},
      r'Line 1 .*metrics.estimate .*Remove',
    ),
  ],
)
def test_rows_that_cannot_be_shown_are_named(
  ope_row, tmp_path, change, message
):
  runs = tmp_path / 'runs'
  runs.mkdir()
  if change is not None:
    line = json.dumps({**rows_lib.encode(ope_row()), **change})
    # An empty change stands for a row that was cut off.
    (runs / 'rows.jsonl').write_text(line + '\n' if change else line[:50])
  out = tmp_path / 'out'
  with pytest.raises((ValueError, FileNotFoundError), match=message):
    run(runs, '--out', out)
  assert not out.exists()


def test_a_directory_of_something_else_is_left_alone(runs, tmp_path):
  (tmp_path / 'thesis.tex').write_text('mine')
  with pytest.raises(FileExistsError, match='is not a report'):
    run(runs, '--out', tmp_path)
  assert [path.name for path in tmp_path.iterdir()] == ['thesis.tex']
  with pytest.raises(FileExistsError, match='is a file'):
    run(runs, '--out', tmp_path / 'thesis.tex')


def test_two_reports_do_not_write_to_one_directory(ope_row, tmp_path):
  row_files.append(tmp_path / 'runs', ope_row())
  with (
    atomic_output.exclusive(tmp_path / 'out'),
    pytest.raises(FileExistsError, match='Another process is working'),
  ):
    run(tmp_path / 'runs', '--out', tmp_path / 'out')


def test_a_record_removes_nothing_outside_its_directory(ope_row, tmp_path):
  (tmp_path / 'precious.txt').write_text('mine')
  out = tmp_path / 'out'
  out.mkdir()
  (out / 'report.json').write_text(
    json.dumps(
      {'kind': 'dfiv-ope report', 'files': ['../precious.txt', 'old.md']}
    )
  )
  (out / 'old.md').write_text('old')
  row_files.append(tmp_path / 'runs', ope_row())
  run(tmp_path / 'runs', '--out', out)
  assert (tmp_path / 'precious.txt').read_text() == 'mine'
  assert not (out / 'old.md').exists()
