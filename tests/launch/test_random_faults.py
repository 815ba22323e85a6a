"""Random faults in logs, records, rows and policies: refused, or harmless.

A case is something sound with one change. A change that breaks it must end in
one sentence and exit code 2; one that only writes it otherwise must give the
same content; one that says something else must give another content, and the
recorded numbers must be those of the rows. Anything else counts as a failure:
a traceback, or a wrong answer that was accepted.

`make test` tries a few cases; DFIV_OPE_FAULT_CASES=2000 tries as many.
"""

import contextlib
import copy
import csv
import gzip
import io
import json
import os
import pathlib
import re
import shutil
import tempfile
from unittest import mock

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
import numpy as np
import pandas as pd
import pytest

from dfiv_ope import typed_json
from dfiv_ope.launch import main, runtime
from dfiv_ope.policies import answers
from dfiv_ope.results import files

_CASES = int(os.environ.get('DFIV_OPE_FAULT_CASES', '120'))
_DISCOUNT = 0.9
# A sentence is for people.
_LONGEST = 3_000


def cases(share):
  """Returns the settings of a test that tries a share of all cases."""
  return settings(
    max_examples=max(1, round(share * _CASES)),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
  )


def run(*arguments):
  """Runs a command in this process; returns exit code, output, errors."""
  with (
    tempfile.TemporaryFile('w+') as output,
    tempfile.TemporaryFile('w+') as errors,
  ):
    with (
      mock.patch('sys.argv', ['dfiv-ope', *map(str, arguments)]),
      mock.patch.object(runtime, 'start'),
      contextlib.redirect_stdout(output),
      contextlib.redirect_stderr(errors),
    ):
      try:
        main.main()
        code = 0
      except SystemExit as end:
        code = end.code or 0
    texts = []
    for file in (output, errors):
      file.seek(0)
      texts.append(file.read())
  return code, *texts


def refused(*arguments):
  """Expects one sentence and exit code 2."""
  code, output, errors = run(*arguments)
  assert code == 2, (code, output, errors)
  lines = [line for line in errors.splitlines() if line.strip()]
  assert lines[-1].startswith('Error: '), errors
  assert len(lines[-1]) < _LONGEST
  assert '\x1b' not in errors
  return lines[-1]


# Logs: rows are dictionaries of texts; an episode's last row may be a final
# observation, which has neither action nor reward.
_COLUMNS = (
  'episode',
  'step',
  'obs_a',
  'obs_b',
  'action',
  'reward',
  'terminated',
  'truncated',
  'behaviour_probability',
)
_LABELS = ('hold', 'buy', 'sell')
_number = st.integers(-8_000, 8_000).map(lambda x: repr(x / 8.0))


@st.composite
def logs(draw):
  """Draws a sound log; every action occurs."""
  rows = []
  for episode in range(draw(st.integers(2, 5))):
    length = draw(st.integers(2, 5))
    terminated = draw(st.booleans())
    for step in range(length):
      last = step == length - 1
      rows.append(
        {
          'episode': f'e{episode}',
          'step': str(step),
          'obs_a': draw(_number),
          'obs_b': draw(_number),
          'action': (
            _LABELS[len(rows)]
            if len(rows) < 3
            else draw(st.sampled_from(_LABELS))
          ),
          'reward': draw(_number),
          'terminated': str(int(last and terminated)),
          'truncated': str(int(last and not terminated)),
          'behaviour_probability': draw(st.sampled_from(['0.25', '0.5', '1'])),
        }
      )
    if not terminated:
      rows.append(
        {
          'episode': f'e{episode}',
          'step': str(length),
          'obs_a': draw(_number),
          'obs_b': draw(_number),
        }
      )
  return rows


def as_csv(rows, columns=_COLUMNS, **options):
  file = io.StringIO()
  writer = csv.DictWriter(
    file,
    columns,
    restval='',
    extrasaction='ignore',
    lineterminator='\n',
    **options,
  )
  writer.writeheader()
  writer.writerows(rows)
  return file.getvalue().encode()


def mean_return(rows):
  """Returns the average discounted return of the episodes."""
  totals = {}
  for row in rows:
    totals.setdefault(row['episode'], 0.0)
    if row.get('action'):
      totals[row['episode']] += _DISCOUNT ** int(row['step']) * float(
        row['reward']
      )
  return float(np.mean(list(totals.values())))


def _acting(rows):
  return [row for row in rows if row.get('action')]


def _set(column, *values, acting=True):
  """Returns a fault that puts one of some values into a cell."""

  def fault(draw, rows):
    chosen = draw(st.sampled_from(_acting(rows) if acting else rows))
    chosen[column] = draw(st.sampled_from(values))
    return as_csv(rows)

  return fault


def _raw(change):
  """Returns a fault of the file's bytes."""
  return lambda draw, rows: change(draw, as_csv(rows))


def _without(column):
  return lambda draw, rows: as_csv(
    rows, [name for name in _COLUMNS if name != column]
  )


def _set_nearly(draw, rows):
  """Writes the action of one row in another, with blanks around it."""
  one, other = draw(st.permutations(_acting(rows)))[:2]
  before, after = draw(st.sampled_from([('', ' '), (' ', ''), ('', '\t')]))
  one['action'] = f'{before}{other["action"]}{after}'
  return as_csv(rows)


def _set_flag_early(draw, rows):
  early = [
    row
    for row, after in zip(rows[:-1], rows[1:], strict=True)
    if row['episode'] == after['episode'] and after.get('action')
  ]
  draw(st.sampled_from(early))[
    draw(st.sampled_from(['terminated', 'truncated']))
  ] = '1'
  return as_csv(rows)


def _drop_inner(draw, rows):
  """Leaves out a step that is neither first nor last."""
  inner = [
    index
    for index in range(1, len(rows) - 1)
    if rows[index - 1]['episode'] == rows[index + 1]['episode']
  ]
  rows.pop(draw(st.sampled_from(inner)))
  return as_csv(rows)


def _repeat(draw, rows):
  index = draw(st.integers(0, len(rows) - 1))
  return as_csv([*rows[: index + 1], rows[index], *rows[index + 1 :]])


def _come_back(draw, rows):
  """Puts the first episode's last row to the end of the file."""
  first = [row for row in rows if row['episode'] == 'e0']
  return as_csv([row for row in rows if row is not first[-1]] + [first[-1]])


def _tear(draw, text):
  """Leaves out the end of a line, commas and all; not empty cells alone."""
  lines = text.split(b'\n')
  index = draw(st.integers(1, len(lines) - 2))
  cells = lines[index].split(b',')
  last = max(place for place, cell in enumerate(cells) if cell)
  lines[index] = b','.join(cells[: draw(st.integers(1, last))])
  return b'\n'.join(lines)


def _insert(*values):
  def change(draw, text):
    place = draw(st.integers(text.index(b'\n') + 1, len(text) - 2))
    return text[:place] + draw(st.sampled_from(values)) + text[place:]

  return _raw(change)


FAULTS = {
  'reward': _set('reward', 'nan', 'inf', '-inf', '1e999', 'high', ''),
  'observation': _set(
    'obs_a', 'nan', 'inf', '-1e999', 'x', '', '1,5', '0x10', acting=False
  ),
  'action': _set('action', '1.5', 'bu\x1by', ''),
  'nearly the same action': _set_nearly,
  'step': _set('step', '-1', '1.5', '99', 'x', '', '1e300', '9007199254740993'),
  'flag': _set('terminated', '2', 'maybe', '', '0.5'),
  'flag too early': _set_flag_early,
  'probability': _set(
    'behaviour_probability', '0', '-0.1', '1.01', '2', 'nan', '', 'x'
  ),
  'episode without a name': _set('episode', '', acting=False),
  'step left out': _drop_inner,
  'row twice': _repeat,
  'episode comes back': _come_back,
  'torn line': _raw(_tear),
  'control byte': _insert(b'\x00', b'\xff', b'\xfe\xfe', b'\x1b[31m'),
  'no reward': _without('reward'),
  'no episode': _without('episode'),
  'no action': _without('action'),
  'name twice': lambda draw, rows: as_csv(rows).replace(b'obs_b', b'obs_a'),
  'semicolons': lambda draw, rows: as_csv(rows, delimiter=';'),
  'header only': lambda draw, rows: as_csv([]),
  'nothing': lambda draw, rows: draw(st.sampled_from([b'', b'\n', b' \n'])),
}


def _other_names(draw, rows):
  return as_csv([{**row, 'episode': f'new {row["episode"]}'} for row in rows])


HARMLESS = {
  'the same': lambda draw, rows: as_csv(rows),
  'other order of columns': lambda draw, rows: as_csv(
    rows,
    draw(
      st.permutations(_COLUMNS).filter(
        lambda names: names.index('obs_a') < names.index('obs_b')
      )
    ),
  ),
  'another column': lambda draw, rows: as_csv(
    [{**row, 'note': '[red]x[/red]'} for row in rows], ('note', *_COLUMNS)
  ),
  'quotes': lambda draw, rows: as_csv(rows, quoting=csv.QUOTE_ALL),
  'ends of lines': lambda draw, rows: as_csv(rows).replace(b'\n', b'\r\n'),
  'mark of UTF-8': lambda draw, rows: b'\xef\xbb\xbf' + as_csv(rows),
  'no last end': lambda draw, rows: as_csv(rows)[:-1],
  'other names of episodes': _other_names,
  'no steps': _without('step'),
  'later steps': lambda draw, rows: as_csv(
    [{**row, 'step': str(int(row['step']) + 7)} for row in rows]
  ),
  'compressed': lambda draw, rows: gzip.compress(as_csv(rows)),
}


def _other_number(column):
  def change(draw, rows):
    row = draw(st.sampled_from(_acting(rows)))
    row[column] = repr(
      float(row[column]) + draw(st.sampled_from([1.0, 0.125, -3.0, 1e6]))
    )
    return as_csv(rows)

  return change


def _other_action(draw, rows):
  row = draw(st.sampled_from(_acting(rows)[3:]))
  row['action'] = _LABELS[_LABELS.index(row['action']) - 1]
  return as_csv(rows)


CHANGES = {
  'reward': _other_number('reward'),
  'observation': _other_number('obs_a'),
  'action': _other_action,
}


def _import(content, directory, name='log.csv'):
  if content[:2] == b'\x1f\x8b':
    name += '.gz'
  (directory / name).write_bytes(content)
  out = directory / 'data'
  code, output, errors = run(
    'dataset', 'import', directory / name, '--out', out, '--discount', _DISCOUNT
  )
  return code, output, errors, out


def _records(*contents):
  """Imports sound logs and checks the datasets; returns their records."""
  for content in contents:
    with tempfile.TemporaryDirectory() as folder:
      code, _, errors, out = _import(content, pathlib.Path(folder))
      assert code == 0, errors
      code, _, errors = run('dataset', 'check', out)
      assert code == 0, errors
      yield json.loads((out / 'metadata.json').read_text())


@pytest.mark.slow
@cases(0.3)
@given(data=st.data(), rows=logs(), name=st.sampled_from(sorted(FAULTS)))
def test_a_fault_in_a_log_is_refused_and_leaves_nothing(data, rows, name):
  content = FAULTS[name](data.draw, copy.deepcopy(rows))
  with tempfile.TemporaryDirectory() as folder:
    directory = pathlib.Path(folder)
    (directory / 'log.csv').write_bytes(content)
    refused(
      'dataset',
      'import',
      directory / 'log.csv',
      '--out',
      directory / 'data',
      '--discount',
      _DISCOUNT,
    )
    assert [file.name for file in directory.iterdir()] == ['log.csv']


@pytest.mark.slow
@cases(0.15)
@given(data=st.data(), rows=logs(), name=st.sampled_from(sorted(HARMLESS)))
def test_another_way_to_write_a_log_gives_the_same_content(data, rows, name):
  first, second = _records(
    as_csv(rows), HARMLESS[name](data.draw, copy.deepcopy(rows))
  )
  assert first['digest'] == second['digest']
  np.testing.assert_allclose(
    [each['behaviour']['mean'] for each in (first, second)],
    mean_return(rows),
    rtol=1e-9,
    atol=1e-9,
  )


@pytest.mark.slow
@cases(0.1)
@given(
  data=st.data(),
  rows=logs().filter(lambda rows: len(_acting(rows)) > 3),
  name=st.sampled_from(sorted(CHANGES)),
)
def test_a_log_that_says_something_else_has_another_digest(data, rows, name):
  changed = copy.deepcopy(rows)
  first, second = _records(as_csv(rows), CHANGES[name](data.draw, changed))
  assert first['digest'] != second['digest']
  np.testing.assert_allclose(
    [each['behaviour']['mean'] for each in (first, second)],
    [mean_return(rows), mean_return(changed)],
    rtol=1e-9,
    atol=1e-9,
  )


# Records: JSON with one node replaced, removed or added.
_JUNK = st.one_of(
  st.none(),
  st.booleans(),
  st.integers(-3, 3),
  st.sampled_from([10**400, -1, 0.5, float('nan'), float('inf'), 1e308]),
  st.text(max_size=5),
  st.just('../../etc/passwd'),
  st.just('\x1b[2J'),
  st.lists(st.integers(), max_size=2),
  st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
  st.integers(1, 2_000).map(lambda depth: _nested(depth)),
)


def _nested(depth):
  value = []
  for _ in range(depth):
    value = [value]
  return value


def _paths(node, path=()):
  """Yields the path of every node of JSON data but the root."""
  children = (
    node.items()
    if isinstance(node, dict)
    else enumerate(node)
    if isinstance(node, list)
    else ()
  )
  for key, child in children:
    yield (*path, key)
    yield from _paths(child, (*path, key))


@st.composite
def changed_json(draw, value):
  """Draws JSON data that differs from a value in one place."""
  value = copy.deepcopy(value)
  *above, last = draw(st.sampled_from(list(_paths(value))))
  parent = value
  for key in above:
    parent = parent[key]
  kind = draw(st.sampled_from(['replace', 'replace', 'remove', 'add']))
  if kind == 'remove':
    del parent[last]
  elif kind == 'add' and isinstance(parent, dict):
    parent[draw(st.text(min_size=1, max_size=4))] = draw(_JUNK)
  else:
    parent[last] = draw(_JUNK)
  return value


@pytest.fixture(scope='module')
def sound(tmp_path_factory):
  """A small dataset, and its record."""
  directory = tmp_path_factory.mktemp('sound')
  rows = [
    {
      'episode': f'e{episode}',
      'step': str(step),
      'obs_a': repr(episode / 8),
      'obs_b': repr(step / 4),
      'action': _LABELS[(episode + step) % 3],
      'reward': repr(float(step)),
      'terminated': str(int(step == 3)),
      'truncated': '0',
      'behaviour_probability': '0.5',
    }
    for episode in range(30)
    for step in range(4)
  ]
  code, _, errors, out = _import(as_csv(rows), directory)
  assert code == 0, errors
  return out


@pytest.mark.slow
@cases(0.2)
@given(data=st.data())
def test_a_changed_record_is_never_called_sound(sound, data):
  record = json.loads((sound / 'metadata.json').read_text())
  changed = data.draw(changed_json(record))
  text = json.dumps(changed)
  if text == json.dumps(record):
    return
  with tempfile.TemporaryDirectory() as folder:
    out = pathlib.Path(folder) / 'data'
    shutil.copytree(sound, out)
    (out / 'metadata.json').write_text(text)
    refused('dataset', 'check', out)
    refused('dataset', 'export', out, '--out', out.parent / 'log.csv')


@pytest.mark.slow
@cases(0.05)
@given(data=st.data())
def test_a_changed_byte_of_a_dataset_is_found(sound, data):
  parts = sorted(
    path.relative_to(sound)
    for path in sound.rglob('*')
    if path.is_file() and path.stat().st_size and not path.name.startswith('.')
  )
  name = data.draw(st.sampled_from(parts))
  with tempfile.TemporaryDirectory() as folder:
    out = pathlib.Path(folder) / 'data'
    shutil.copytree(sound, out)
    content = bytearray((out / name).read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
      content = content[:place]
    else:
      content[place] ^= data.draw(st.integers(1, 255))
    (out / name).write_bytes(content)
    if name.name == 'metadata.json':
      with contextlib.suppress(ValueError):
        if json.loads(content) == json.loads((sound / name).read_text()):
          return  # Blanks.
    refused('dataset', 'check', out)


# Result rows: a report is made of sound rows only.


@pytest.mark.slow
@cases(0.05)
@given(data=st.data())
def test_rows_with_a_fault_end_in_a_sentence_or_a_report(ope_row, data):
  rows = [
    ope_row(method, seed=seed) for method in ('kiv', 'lstd') for seed in (0, 1)
  ]
  with tempfile.TemporaryDirectory() as folder:
    runs = pathlib.Path(folder) / 'runs'
    for row in rows:
      files.append(runs, row)
    file = runs / 'rows.jsonl'
    lines = file.read_text().splitlines()
    number = data.draw(st.integers(0, len(lines) - 1))
    changed = data.draw(changed_json(json.loads(lines[number])))
    lines[number] = json.dumps(changed)
    file.write_text('\n'.join([*lines, '']))
    code, output, errors = run(
      'report', runs, '--out', pathlib.Path(folder) / 'report'
    )
    metrics = changed.get('metrics')
    if code == 0:
      assert 'estimate' in metrics
      assert all(typed_json.is_number(each) for each in metrics.values()), (
        output
      )
    else:
      assert code == 2, errors
      assert re.search(
        rf'[Ll]ine {number + 1}\b|of the problem .* no report knows', errors
      )


# Policies: an answer is taken as meant or refused.
def _answer(draw, meant, names):
  """Draws an answer, and whether it can only be refused."""
  frame = pd.DataFrame(meant, columns=names)
  order = draw(st.permutations(range(len(names))))
  kind = draw(
    st.sampled_from(
      [
        'array',
        'list',
        'frame',
        'permuted frame',
        'float32',
        'other names',
        'shuffled rows',
        'nan',
        'negative',
        'logits',
        'wide',
        'narrow',
        'too few',
        'object',
        'complex',
        'none',
        'ragged',
        'text',
      ]
    )
  )
  row = draw(st.integers(0, len(meant) - 1))
  broken = meant.copy()
  if kind in ('nan', 'negative', 'logits'):
    broken[row, 0] = {'nan': np.nan, 'negative': -0.5, 'logits': 7.0}[kind]
  shuffled = frame.iloc[::-1]
  answers = {
    'array': meant,
    'list': meant.tolist(),
    'frame': frame,
    'permuted frame': frame.iloc[:, list(order)],
    'float32': meant.astype(np.float32),
    'other names': frame.rename(columns={names[0]: 'other'}),
    'shuffled rows': shuffled,
    'nan': broken,
    'negative': broken,
    'logits': broken,
    'wide': np.hstack([meant, meant[:, :1]]),
    'narrow': meant[:, 1:],
    'too few': meant[1:],
    'object': np.array([['a', None, {}]] * len(meant), object),
    'complex': meant + 1j,
    'none': None,
    'ragged': [list(each) for each in meant[:-1]] + [[1.0]],
    'text': 'hold',
  }
  sound = kind in ('array', 'list', 'frame', 'permuted frame', 'float32')
  return answers[kind], sound


@cases(0.15)
@given(data=st.data(), rows=st.integers(2, 6))
def test_an_answer_of_a_policy_is_taken_as_meant_or_refused(data, rows):
  weights = np.array(
    data.draw(
      st.lists(
        st.lists(st.integers(0, 8), min_size=3, max_size=3).filter(any),
        min_size=rows,
        max_size=rows,
      )
    ),
    float,
  )
  meant = weights / weights.sum(axis=1, keepdims=True)
  answer, sound = _answer(data.draw, meant, list(_LABELS))
  try:
    found = answers.as_probabilities(answer, rows, 3, _LABELS)
  except ValueError as error:
    assert not sound, error
    assert str(error).strip()
  else:
    assert sound
    np.testing.assert_allclose(found, meant, atol=1e-6)
