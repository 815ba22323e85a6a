"""Texts of users are printed as they are: no markup, no control characters."""

import ast
import io
import json
import pathlib

import pytest
from rich import console as rich_console

from dfiv_ope import visible_text
from dfiv_ope.launch import console

_LAUNCH = pathlib.Path(__file__).parents[2] / 'launch'
_EVIL = '[red]x[/red] [/x] :warning: \x1b[31m\x9b1m\u202e\x07\x00\udc80'
_SHOWN = (
  r'[red]x[/red] [/x] :warning: '
  r'\x1b[31m\x9b1m\u202e\x07\x00\udc80'
)


@pytest.fixture
def terminal(monkeypatch):
  """Returns what a wide terminal that obeys all codes is sent."""
  file = io.StringIO()
  for name in ('_OUTPUT', '_NOTES'):
    monkeypatch.setattr(
      console,
      name,
      rich_console.Console(
        file=file, width=500, force_terminal=True, color_system=None
      ),
    )
  return file


def _table(text):
  table = console.Table(f'{text}\nsecond line', caption=text, boxed=False)
  table.add_column(text)
  table.add_row(text)
  table.show()


def _progress(text):
  with console.progress(text, 2.0) as update:
    update(1.0, text)


@pytest.mark.parametrize(
  'show',
  [
    console.say,
    console.note,
    console.fail,
    _table,
    _progress,
    lambda text: console.card(text, [(text, text)]),
  ],
  ids=['say', 'note', 'fail', 'table', 'progress', 'card'],
)
def test_markup_and_control_characters_are_shown_and_not_obeyed(terminal, show):
  show(_EVIL)
  text = terminal.getvalue()
  assert _SHOWN in text
  for character in '\x9b\u202e\x00\udc80':
    assert character not in text
  assert '\x1b[31m' not in text


def test_a_long_text_is_cut_in_its_middle(terminal):
  console.fail('a' * 1_000_000 + ' the end')
  text = terminal.getvalue()
  assert len(text) < 2_500
  assert '[... 998,008 characters ...]' in text
  assert text.rstrip().endswith('the end')


def test_json_stays_json(terminal):
  data = {'name': 'é[red]\u202e\x7f\x1b\U0001f600', 'long': 'x' * 5_000}
  console.say_json(json.dumps(data, ensure_ascii=False, indent=2) + '\n')
  text = terminal.getvalue()
  assert json.loads(text) == data
  assert text.isascii()
  assert '\x7f' not in text


def test_lines_of_a_file_stay_lines():
  assert visible_text.lines('a\n\tb\r\x1b') == 'a\n\tb\\r\\x1b'


def test_characters_that_an_encoding_lacks_do_not_end_a_command(monkeypatch):
  stream = io.TextIOWrapper(io.BytesIO(), encoding='ascii')
  monkeypatch.setattr('sys.stdout', stream)
  console.accept_all_characters()
  print('±', file=stream, flush=True)
  assert stream.buffer.getvalue() == b'\\xb1\n'


@pytest.mark.parametrize(
  'path',
  [path for path in sorted(_LAUNCH.rglob('*.py')) if path.name != 'console.py'],
  ids=lambda path: str(path.relative_to(_LAUNCH)),
)
def test_nothing_is_printed_past_the_console(path):
  for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
    if isinstance(node, ast.Import | ast.ImportFrom):
      names = [alias.name for alias in node.names]
      module = getattr(node, 'module', None)
      assert not any(
        name.split('.')[0] == 'rich' for name in [*names, module or '']
      ), f'{path} imports rich: use console.say, note, card or Table.'
    elif isinstance(node, ast.Call):
      called = ast.unparse(node.func)
      assert called not in (
        'print',
        'typer.echo',
        'typer.secho',
        'sys.stdout.write',
        'sys.stderr.write',
      ), f'{path} calls {called}: use console.say.'
    elif isinstance(node, ast.Attribute):
      assert ast.unparse(node) not in ('console.OUTPUT', 'console.NOTES'), (
        f'{path} prints past console.say, note, card and Table.'
      )


def test_quiet_leaves_out_notes_and_progress_and_nothing_else(
  terminal, monkeypatch
):
  monkeypatch.setattr(console, '_quiet', False)
  console.be_quiet()
  console.note('a note')
  _progress('a bar')
  assert terminal.getvalue() == ''
  console.say('a result')
  console.fail('an error')
  assert terminal.getvalue() == 'a result\nError: an error\n'
  console.be_quiet(False)
  console.note('a note')
  assert terminal.getvalue().endswith('a note\n')


def test_details_stand_before_the_error(capsys, monkeypatch):
  monkeypatch.setattr(console, '_NOTES', None)
  console.fail('two things\nare wrong', details=['first', 'second \x1b[31m'])
  assert capsys.readouterr().err == (
    'first\nsecond \\x1b[31m\nError: two things are wrong\n'
  )


@pytest.mark.parametrize(
  'value, digits, said',
  [
    (123.4, 2, '120'),
    (-12345.6, 4, '-12350'),
    (0.0123456, 4, '0.01235'),
    (1.5e12, 2, '1.5e+12'),
    (2.0, 3, '2'),
    (float('nan'), 2, 'nan'),
    (float('inf'), 2, 'inf'),
  ],
)
def test_numbers_are_written_as_people_do(value, digits, said):
  assert visible_text.number(value, digits) == said
