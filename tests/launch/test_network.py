"""Nothing listens on the network unless it is asked to."""

import json
import pathlib
import socket
import subprocess
import sys

import pytest
import reverb

from dfiv_ope import loopback
from dfiv_ope.datasets import serving

# Runs commands in one process in which no Reverb server can be started, and
# says what the process listens on after each.
_SCRIPT = """
import functools, json, sys
import reverb
def refuse(*args, **kwargs):
  raise AssertionError('a Reverb server was started')
reverb.Server = reverb.server.Server = refuse
from dfiv_ope import loopback
from dfiv_ope.launch import main, runtime
runtime.start = functools.lru_cache(runtime.start)
for arguments in json.loads(sys.argv[1]):
  main.app(arguments, standalone_mode=False)
  assert not list(loopback._listeners()), arguments
print('quiet')
"""


def test_import_check_export_evaluate_and_make_listen_nowhere(
  policy, dataset, tmp_path
):
  (tmp_path / 'log.csv').write_text(
    'episode,obs,action,reward,terminated\n0,1,a,1,0\n0,2,b,2,1\n'
  )
  imported = tmp_path / 'imported'
  commands = [
    ['dataset', 'import', tmp_path / 'log.csv', '--out', imported],
    ['dataset', 'check', imported],
    ['dataset', 'check', dataset],
    ['dataset', 'export', dataset, '--out', tmp_path / 'log.npz'],
    [
      'dataset',
      'make',
      'catch',
      '--policy',
      policy,
      '--transitions',
      '100',
      '--truth-episodes',
      '10',
      '--out',
      tmp_path / 'made',
    ],
    [
      'evaluate',
      dataset,
      '--method',
      'lstd',
      '--seeds',
      '1',
      '--out',
      tmp_path / 'runs',
    ],
  ]
  result = subprocess.run(
    [
      sys.executable,
      '-c',
      _SCRIPT,
      json.dumps([list(map(str, each)) for each in commands]),
    ],
    capture_output=True,
    text=True,
  )
  assert result.stdout.endswith('quiet\n'), result.stderr


def _device(listener: socket.socket) -> bytes:
  return listener.getsockopt(
    socket.SOL_SOCKET, socket.SO_BINDTODEVICE, 16
  ).rstrip(b'\0')


def _devices(port: int) -> list[bytes]:
  """The interfaces that this process takes connections to a port from."""
  found = []
  for listener in loopback._listeners():
    with listener:
      if listener.getsockname()[1] == port:
        found.append(_device(listener))
  return found


@pytest.fixture
def server():
  table = reverb.Table(
    'numbers',
    sampler=reverb.selectors.Uniform(),
    remover=reverb.selectors.Fifo(),
    max_size=9,
    rate_limiter=reverb.rate_limiters.MinSize(1),
  )
  result = reverb.Server([table])
  yield result
  result.stop()


def test_a_server_can_be_kept_to_this_machine(server):
  assert _devices(server.port) == [b'']
  loopback.confine(server.port)
  assert _devices(server.port) == [b'lo']
  client = reverb.Client(f'localhost:{server.port}')
  client.insert([1.0], {'numbers': 1.0})
  assert client.server_info()['numbers'].current_size == 1


def test_a_port_of_nobody_cannot_be_confined():
  with socket.socket() as free:
    free.bind(('localhost', 0))
    with pytest.raises(OSError, match='does not listen on port'):
      loopback.confine(free.getsockname()[1])


@pytest.mark.parametrize(
  'change, words',
  [
    (lambda client: client.reset('numbers'), 'had 1 blocks and has 0'),
    (
      lambda client: client.insert([1.0], {'numbers': 1.0}),
      'had 1 blocks and has 2',
    ),
  ],
)
def test_a_served_table_that_a_client_changed_is_served_no_more(
  server, monkeypatch, change, words
):
  client = reverb.Client(f'localhost:{server.port}')
  client.insert([1.0], {'numbers': 1.0})
  # The client comes between two looks, whenever they are.
  monkeypatch.setattr(serving.time, 'sleep', lambda seconds: change(client))
  with pytest.raises(ValueError, match=words):
    serving.watch(server)


def test_serve_takes_no_other_host(command, tmp_path):
  message = command.refuses(
    'dataset', 'serve', tmp_path, '--host', '192.168.0.7'
  )
  assert 'must be 127.0.0.1 or 0.0.0.0' in message


def test_help_of_serve_says_who_may_connect(command):
  text = ' '.join(command('dataset', 'serve', '--help').stdout.split())
  for words in (
    'no authentication',
    '127.0.0.1',
    '0.0.0.0',
    'delete or change what is served',
  ):
    assert words in text, text


def test_nothing_else_starts_a_server():
  """Who may: training, whose server is confined, and what `serve` calls."""
  root = pathlib.Path(__file__).parents[2]
  found = {
    path.relative_to(root).as_posix()
    for folder in ('agents', 'datasets', 'dfiv_ope', 'envs', 'launch')
    for path in (root / folder).rglob('*.py')
    if 'reverb.Server(' in path.read_text()
  }
  assert found == {'agents/replay.py', 'datasets/serving.py'}
