"""Kills commands by SIGKILL at random moments and compares their rows.

    python docs/results/kill_resume.py --kills 20 --out build/kills

Each of `evaluate`, `evaluate --method auto`, `iv demand` and `benchmark
coverage` is run once undisturbed. Then it is started again and again in one
directory and killed when it has used a random amount of CPU time, until it
comes to its end, and so on with a new directory until it was killed often
enough. Rows are lost, doubled or different if they are not those of the
undisturbed run.
"""

import argparse
import collections
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

from dfiv_ope import testing

_TRAINED = 'dfiv:updates=40,checks=20,batch_size=128'
_FEW = 'lstd:random_features=20'
COMMANDS = {
  'evaluate': (
    'evaluate',
    'DATA',
    '--method',
    _TRAINED,
    '--method',
    _FEW,
    '--seeds',
    '2',
  ),
  'auto': (
    'evaluate',
    'DATA',
    '--method',
    'auto',
    '--method',
    _TRAINED,
    '--method',
    _FEW,
    '--seeds',
    '1',
    '--workers',
    '2',
  ),
  'iv': (
    'iv',
    'demand',
    '--method',
    'dfiv:iterations=20,checks=4',
    '--method',
    'two_sls',
    '--n',
    '300',
    '--seeds',
    '3',
  ),
  'coverage': (
    'benchmark',
    'coverage',
    'DATA',
    '--method',
    _FEW,
    '--logs',
    '4',
    '--seeds',
    '2',
    '--workers',
    '2',
  ),
}


def start(arguments: tuple[str, ...], out: pathlib.Path) -> subprocess.Popen:
  """Starts a command as a user does, in a session of its own."""
  return subprocess.Popen(
    [
      sys.executable,
      '-c',
      'from dfiv_ope.launch import main; main.main()',
      *arguments,
      '--out',
      str(out),
    ],
    stdout=subprocess.DEVNULL,
    stderr=subprocess.DEVNULL,
    start_new_session=True,
  )


def cpu_seconds(session: int) -> float:
  """Returns the CPU time that all processes of a session have used."""
  ticks = 0
  for stat in pathlib.Path('/proc').glob('[0-9]*/stat'):
    try:
      fields = stat.read_text().rpartition(')')[2].split()
    except OSError:
      continue
    if int(fields[3]) == session:
      ticks += int(fields[11]) + int(fields[12])
  return ticks / os.sysconf('SC_CLK_TCK')


def run(
  arguments: tuple[str, ...], out: pathlib.Path, limit: float = float('inf')
) -> tuple[bool, float]:
  """Runs a command until its end or until it has used `limit` CPU seconds.

  Returns:
    Whether it came to its end, and the CPU seconds that it used.
  """
  process = start(arguments, out)
  used = 0.0
  while process.poll() is None:
    used = max(used, cpu_seconds(process.pid))
    if used > limit:
      process.send_signal(signal.SIGKILL)  # Its workers die with it.
      process.wait()
      return False, used
    time.sleep(0.01)
  assert process.returncode == 0, (arguments, process.returncode)
  return True, used


def faults(out: pathlib.Path, whole: pathlib.Path) -> collections.Counter[str]:
  """Counts rows that are lost, doubled or different, and files left over."""
  ours, theirs = map(testing.comparable_rows, (out, whole))
  count = collections.Counter(map(repr, ours))
  wanted = collections.Counter(map(repr, theirs))
  found = collections.Counter(
    doubled=sum(number - 1 for number in count.values()),
    lost=max(0, len(wanted) - len(count)),
    different=len(set(count) - set(wanted)),
  )
  for name in ('checkpoints', 'selection'):
    folder = out / name
    found['left over'] += len(list(folder.iterdir())) if folder.is_dir() else 0
  return found


def main() -> None:
  """Runs all commands and prints a table in Markdown."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--kills', type=int, default=20)
  parser.add_argument('--seed', type=int, default=0)
  parser.add_argument('--out', type=pathlib.Path, required=True)
  parser.add_argument('--only', nargs='*', default=list(COMMANDS))
  options = parser.parse_args()
  data = options.out / 'data'
  if not (data / 'metadata.json').exists():
    subprocess.run(
      [
        sys.executable,
        '-c',
        'from dfiv_ope.launch import main; main.main()',
        'dataset',
        'make',
        'catch',
        '--out',
        str(data),
        '--transitions',
        '2000',
        '--truth-episodes',
        '1000',
        '--set',
        'transitions=3000',
        '--set',
        'trial_episodes=4',
      ],
      check=True,
    )
  print(
    '| command | kills | runs to the end | lost | doubled | different | '
    'files left over |\n|---|---|---|---|---|---|---|'
  )
  for name in options.only:
    arguments = tuple(
      str(data) if each == 'DATA' else each for each in COMMANDS[name]
    )
    moments = random.Random(options.seed)
    whole = options.out / name / 'whole'
    _, used = run(arguments, whole)
    found: collections.Counter[str] = collections.Counter()
    killed = ended = 0
    while killed < options.kills:
      out = options.out / name / f'killed-{ended}'
      while True:
        # Anywhere from the first import to after the usual end.
        done, _ = run(
          arguments,
          out,
          moments.uniform(0.1, 1.1) * used
          if killed < options.kills
          else float('inf'),
        )
        if done:
          break
        killed += 1
      ended += 1
      found.update(faults(out, whole))
    print(
      f'| {name} | {killed} | {ended} | {found["lost"]} | '
      f'{found["doubled"]} | {found["different"]} | '
      f'{found["left over"]} |',
      flush=True,
    )


if __name__ == '__main__':
  main()
