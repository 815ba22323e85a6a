"""YAML that is read, and YAML that is refused."""

import pytest

from dfiv_ope import yaml_files

_BOMB = 'a: &a [x]\n' + ''.join(
  f'{after}: &{after} [{", ".join([f"*{before}"] * 9)}]\n'
  for before, after in zip('abcdefgh', 'bcdefghi', strict=True)
)


@pytest.mark.parametrize(
  'text, message',
  [
    ('[' * 3_000 + ']' * 3_000, 'more than 20 levels'),
    (
      'a:\n' + ''.join(f'{" " * level}b:\n' for level in range(1, 300)),
      'more than 20 levels',
    ),
    (_BOMB, 'aliases .* are not allowed at line 2'),
    ('a: &a [*a]', 'aliases'),
    ('seeds: 1\nseeds: 2', "the key 'seeds' comes twice at line 2"),
    ('settings: {lstd: {penalty: 1, penalty: 2}}', "'penalty' comes twice"),
    ('seeds: ' + '9' * 5_000, 'digits'),
    ('seeds: 2024-13-45', 'month'),
    ('seeds: !!bool x', 'not YAML'),
    ('seeds: !!python/object:os.system x', 'could not determine'),
    ('? [a]\n: 1', 'unhashable'),
    ('a: \x1b', 'special characters'),
    ('yes: 1', 'the key True, which YAML reads as bool'),
    ('- a', 'should hold names and values'),
    ('a: b' + ' ' * 1_000_000, 'more than 1,000,000 bytes'),
  ],
)
def test_yaml_that_is_refused(tmp_path, text, message):
  path = tmp_path / 'file.yaml'
  path.write_text(text)
  with pytest.raises(ValueError, match=message) as caught:
    yaml_files.read(path)
  assert str(path) in str(caught.value)
  assert '\n' not in str(caught.value)
  assert len(str(caught.value)) < 1_000


def test_yaml_in_another_encoding_is_refused(tmp_path):
  path = tmp_path / 'file.yaml'
  path.write_bytes('name: é'.encode('latin-1'))
  with pytest.raises(ValueError, match='is not YAML: not UTF-8'):
    yaml_files.read(path)


def test_plain_yaml_is_read(tmp_path):
  path = tmp_path / 'file.yaml'
  path.write_text('tasks: [catch]\nsettings: {lstd: {penalty: 1e-5}}\n')
  assert yaml_files.read(path) == {
    'tasks': ['catch'],
    'settings': {'lstd': {'penalty': '1e-5'}},
  }
  path.write_text('')
  assert yaml_files.read(path) == {}
