"""Wrong input ends with one bounded sentence and exit code 2, before work."""

import json
import pathlib
import resource
import signal
import sys

import pytest

from dfiv_ope import error_sentences, interrupts, limits
from dfiv_ope.agents import configured
from dfiv_ope.agents.entries import dqn, lstd
from dfiv_ope.datasets import columns
from dfiv_ope.evaluation import sweep_spec
from dfiv_ope.launch import main, report
from dfiv_ope.launch.experiments import inputs, plan
from dfiv_ope.policies import trained
from dfiv_ope.results import files


@pytest.fixture
def refuses(capfd, monkeypatch, tmp_path):
  """Runs a command in this process; returns the sentence it refuses with."""
  monkeypatch.chdir(tmp_path)
  monkeypatch.delenv('DFIV_OPE_DEBUG', raising=False)
  before = signal.getsignal(signal.SIGINT)

  def run(*arguments):
    monkeypatch.setattr(sys, 'argv', ['dfiv-ope', *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
      main.main()
    output, errors = capfd.readouterr()
    assert ended.value.code == 2, errors
    (line,) = errors.splitlines()
    assert line.startswith('Error: ')
    assert len(line) < 2_500
    assert line.isprintable()
    assert not output
    assert not list(tmp_path.glob('out*'))
    return line

  yield run
  signal.signal(signal.SIGINT, before)


_MANY = 100_000_000_000


@pytest.mark.parametrize(
  'command, option, most',
  [
    ('evaluate data --method lstd', '--seeds', limits.SEEDS),
    ('evaluate data --method lstd', '--truth-episodes', limits.TRUTH_EPISODES),
    ('sweep', '--workers', limits.JOBS),
    ('dataset make catch', '--transitions', limits.TRANSITIONS),
    ('dataset make catch', '--truth-episodes', limits.TRUTH_EPISODES),
    ('iv demand --method two_sls', '--seeds', limits.SEEDS),
    ('iv demand --method two_sls', '--n', limits.SAMPLE),
    ('iv dsprites --method two_sls', '--n', limits.PICTURES),
    ('iv demand-mnist', '--n', limits.PICTURES),
    ('iv mnist', '--n', limits.PICTURES),
    ('reproduce ope', '--workers', limits.JOBS),
    ('evaluate data --method lstd', '--workers', limits.JOBS),
    ('iv demand --method two_sls', '--workers', limits.JOBS),
    ('benchmark coverage data', '--workers', limits.JOBS),
    ('benchmark coverage data', '--logs', limits.LOGS),
    ('benchmark coverage data', '--seeds', limits.SEEDS),
    ('benchmark learners', '--updates', limits.UPDATES),
    ('benchmark learners', '--actions', limits.ACTIONS),
    ('benchmark learners', '--observations', limits.OBSERVATIONS),
    ('benchmark learners', '--rows', limits.ENTRIES // 50),
    ('benchmark learners', '--batch-size', limits.ENTRIES // 50),
  ],
)
def test_a_count_is_refused_with_what_is_allowed(
  refuses, command, option, most
):
  out = () if 'learners' in command else ('--out', 'out')
  sentence = refuses(*command.split(), *out, option, _MANY)
  assert f'{option} must be at most {most:,}, got 100,000,000,000.' in sentence


def test_a_number_of_many_digits_is_told_by_its_size():
  with pytest.raises(ValueError, match='got a number of about 5000 digits'):
    limits.count('seeds', 10**5_000, most=10)
  with pytest.raises(ValueError, match='seed must be at least 0, got -1'):
    limits.count('seed', -1, least=0, most=limits.SEED)


@pytest.mark.parametrize(
  'command, message',
  [
    (('evaluate', 'data', '--out', ''), 'The argument after --out is empty'),
    (('evaluate', '', '--out', 'out'), 'The argument after evaluate is empty'),
    (('report', 'runs', '--out='), '--out is empty'),
    (('evaluate', 'data', '--out', 'out'), 'There is no dataset data.'),
    (('iv', 'demand', '--out', 'out'), 'Name a --method'),
    (('evaluate',), "Missing argument 'DATASET'"),
    (('evaluate', 'data', '--out', 'out', '--seeds', 'x'), '--seeds'),
    (('evaluate', '\x1b[31m'), r'There is no dataset \x1b[31m.'),
    (('sweep', '\x1b[31m'), 'Missing option'),
    (
      ('evaluate', 'data', '--out', 'out', '--method', '\x1b[31m[/x]'),
      r"no method '\x1b[31m[/x]'",
    ),
    (
      ('evaluate', 'data', '--out', 'out', '--method', 'x' * 100_000),
      'characters ...',
    ),
    (
      (
        'evaluate',
        'data',
        '--out',
        'out',
        '--method',
        'lstd',
        '--interval',
        'nan',
      ),
      '--level must lie in (0, 1), got nan',
    ),
    (
      ('benchmark', 'coverage', 'data', '--out', 'out', '--level', 'inf'),
      '--level must lie in (0, 1), got inf',
    ),
    (('no-such',), "No such command 'no-such'"),
    (('evaluate', '--no-such'), 'No such option'),
    (('report', 'x' * 300, '--out', 'out'), 'File name too long'),
    (('report', 'nowhere\udc80', '--out', 'out'), r'nowhere\udc80 has no r'),
    (('sweep', '.', '--out', 'out'), 'Is a directory'),
    (('sweep', '/dev/zero', '--out', 'out'), 'more than 1,000,000 bytes'),
    (
      ('iv', 'demand', '--out', 'out', '--method', 'two_sls', '--rho', 'nan'),
      'rho must lie in [0, 1], got nan',
    ),
    (
      ('policy', 'train', 'catch', '--out', 'out', '--seed', '9' * 30),
      '--seed must be at most 9,223,372,036,854,775,807, got 999,999,',
    ),
  ],
)
def test_an_odd_argument_is_refused(refuses, command, message):
  assert message in refuses(*command)


_INF, _NAN = float('inf'), float('nan')


@pytest.mark.parametrize(
  'data, message',
  [
    ({'seeds': _INF}, 'seeds should be a whole number, got inf'),
    ({'seeds': _NAN}, 'seeds should be a whole number, got nan'),
    ({'seeds': None}, 'seeds should be a whole number, got None'),
    ({'seeds': _MANY}, 'seeds must be at most 10,000, got 100,000,000,000'),
    ({'seeds': 10**400}, 'seeds should be a whole number'),
    ({'dataset_seeds': _MANY}, 'dataset_seeds must be at most 10,000'),
    ({'transitions': _MANY}, 'transitions must be at most 100,000,000'),
    ({'truth_episodes': _MANY}, 'truth_episodes must be at most 100,000,000'),
    ({'seeds': 10_000, 'dataset_seeds': 10_000}, '12,600,000,000 runs, but at'),
    ({'noises': [_INF]}, r'noises must lie in \[0, 1\], got inf'),
    ({'noises': [_NAN]}, 'noises should be numbers, got nan'),
    ({'target_epsilons': _NAN}, 'target_epsilons should be numbers, got nan'),
    ({'discount': _NAN}, 'discount should be numbers, got nan'),
    ({'epsilon': _INF}, r'epsilon must lie in \[0, 1\], got inf'),
    ({'tasks': 'all,no-such'}, "no task 'no-such'"),
  ],
)
def test_a_sweep_that_cannot_be_is_refused(data, message):
  with pytest.raises(ValueError, match=message):
    sweep_spec.parse(data)


def test_lists_of_a_sweep_are_taken_as_they_are_written():
  spec = sweep_spec.parse(
    {'methods': 'kiv', 'settings': {'kiv': {'stage1_penalties': ['1e-5', 0.1]}}}
  )
  assert spec.settings == {'kiv': ('stage1_penalties=(1e-5, 0.1)',)}
  (wanted,) = spec.wanted()
  assert wanted.config.stage1_penalties == (1e-5, 0.1)


@pytest.mark.parametrize(
  'changes, message',
  [
    ({'hidden': (0,)}, 'hidden must hold widths from 1'),
    ({'window': -1.0}, 'window must be positive'),
    ({'learning_rate': 0.0}, 'learning_rate must be positive'),
    ({'warmup_rounds': -1}, 'warmup_rounds must not be negative'),
  ],
)
def test_a_training_that_cannot_be_is_refused(changes, message):
  with pytest.raises(ValueError, match=message):
    dqn.Config(**changes)


def test_lstd_refuses_a_penalty_before_it_opens_a_log():
  with pytest.raises(ValueError, match='penalty must be positive, got -1'):
    lstd.Config(penalty=-1.0)


def test_a_choice_between_equal_configs_is_refused():
  equal = [
    configured.configure('lstd', settings=changes)
    for changes in ((), ('penalty=1e-8',))
  ]
  assert equal[0].config == lstd.Config()
  with pytest.raises(ValueError, match='named are all the same'):
    plan.choice(inputs.Simulated(dataset=pathlib.Path('data')), equal)


@pytest.mark.parametrize(
  'actions, message',
  [
    (str(_MANY), 'at most 10,000 actions, got 100000000000'),
    (_MANY, 'at most 10,000 actions'),
    ('9' * 5_000, 'at most 10,000 actions'),
    ([False, True], 'actions has False, which YAML makes of yes, no'),
  ],
)
def test_actions_that_cannot_be_are_refused(actions, message):
  with pytest.raises(ValueError, match=message):
    columns.parse({'actions': actions})


@pytest.mark.parametrize(
  'content, message',
  [
    (b'', 'is not the record of a policy'),
    (b'[]', 'schema version None'),
    (b'[1]', 'is not the record of a policy'),
    (b'\xff', 'is not the record of a policy'),
    (b'[' * 100_000, 'is not the record of a policy'),
    (b'{"schema": 1}', 'does not say which task'),
  ],
)
def test_a_damaged_record_of_a_policy_is_refused(tmp_path, content, message):
  (tmp_path / trained.RECORD).write_bytes(content)
  with pytest.raises(ValueError, match=message) as caught:
    trained.read_record(tmp_path)
  assert str(tmp_path / trained.RECORD) in str(caught.value)


@pytest.fixture
def small_disk():
  """Lets no file grow beyond 3,000 bytes."""
  soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
  resource.setrlimit(resource.RLIMIT_FSIZE, (3_000, hard))
  yield
  resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_loses_no_row(tmp_path, ope_row, small_disk):
  row = ope_row(curves={'estimate': (0.1,) * 100})
  files.append(tmp_path, row)
  with pytest.raises(OSError, match='too large') as caught:
    for seed in range(1, 9):
      files.append(tmp_path, ope_row(seed=seed, curves=row.curves))
  kept = files.read(tmp_path)
  assert kept[0] == row
  assert [each.seed for each in kept] == list(range(len(kept)))
  assert 'Result rows and datasets that were complete are kept' in (
    error_sentences.of(caught.value, program='dfiv-ope')
  )


_EVIL = (
  '=cmd <script>alert(1)</script> {{7*7}} \\input{x} $\\frac$ [/x] '
  '\x1b[31m\u202e\x00\udc80'
)


def _evil(ope_row):
  return [
    ope_row(
      method,
      seed=seed,
      preset='paper',
      command=_EVIL,
      problem={'dataset': _EVIL},
      reason=reason,
      outcome='error' if reason else 'finished',
    )
    for method in ('lstd', 'kiv')
    for seed, reason in ((0, ''), (1, _EVIL))
  ]


def test_a_report_on_a_full_disk_leaves_no_half_of_a_file(
  tmp_path, ope_row, capfd, small_disk
):
  runs = tmp_path / 'runs'
  files.append(runs, ope_row())
  with pytest.raises(OSError, match='too large'):
    report.report([runs], out=tmp_path / 'report')
  assert not list((tmp_path / 'report').rglob('*.partial'))
  assert len(files.read(runs)) == 1


def test_texts_of_users_are_harmless_in_every_file_of_a_report(
  tmp_path, ope_row, capfd
):
  for row in _evil(ope_row):
    files.append(tmp_path / 'runs', row)
  report.report([tmp_path / 'runs'], out=tmp_path / 'report')
  written = {
    path.name: path.read_text()
    for path in (tmp_path / 'report').rglob('*.*')
    if path.suffix in ('.html', '.csv', '.tex', '.md', '.svg', '.json')
  }
  for text in written.values():
    assert not {'\x1b', '\u202e', '\x00'} & set(text)
  page = written['index.html']
  assert '<script>alert' not in page
  assert '{{7*7}}' in page
  assert r'\x1b[31m\u202e\x00\udc80' in page
  for line in written['results.csv'].splitlines():
    assert not line.startswith(('=', '+', '@'))
    assert ',=' not in line
    assert ',"=' not in line
  for name, text in written.items():
    if name.endswith('.tex'):
      assert r'\input{x}' not in text
      assert r'\frac' not in text


def test_only_ctrl_c_is_an_interrupt(monkeypatch):
  before = signal.getsignal(signal.SIGINT)
  try:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    interrupts.tell_apart()
    with pytest.raises(interrupts.Interrupted):
      signal.raise_signal(signal.SIGINT)
    with pytest.raises(interrupts.Interrupted):
      interrupts.check()  # Foreign code may have swallowed the first.
    interrupts.begin()
    interrupts.check()  # New work is not interrupted by an old Ctrl-C.
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # as under nohup
    interrupts.tell_apart()
    signal.raise_signal(signal.SIGINT)
  finally:
    signal.signal(signal.SIGINT, before)


def test_the_record_of_a_report_is_json(tmp_path, ope_row, capfd):
  files.append(tmp_path / 'runs', ope_row())
  report.report([tmp_path / 'runs'], out=tmp_path / 'report')
  record = json.loads((tmp_path / 'report' / 'report.json').read_text())
  assert 'index.html' in record['files']
  assert pathlib.Path(capfd.readouterr().out.strip()).name == 'index.html'
