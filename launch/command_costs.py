"""What a whole evaluation by LSTD-Q costs, beside its bare matrix products."""

from collections.abc import Callable, Iterator
import contextlib
import dataclasses
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np

from dfiv_ope import stages

# Of the made-up log: a state that follows the action, with noise.
_STEPS, _STATES, _ACTIONS, _DISCOUNT = 50, 3, 3, 0.95
# Rows that are written at a time, and rows of a product as fits make it.
_BLOCK, _PRODUCT = 500_000, 4_096
_ROUNDS = 5


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scale:
  """What `dfiv-ope evaluate` takes for a log of so many rows.

  Attributes:
    rows: of the log.
    cpu_seconds: of the whole command, with start-up, interval and checks.
    gigabytes: largest memory of the process.
    bare_products: CPU seconds of the products of one pass of LSTD-Q alone.
  """

  rows: int
  cpu_seconds: float
  gigabytes: float
  bare_products: float

  @property
  def ratio(self) -> float:
    """How many times its bare products the command takes."""
    return self.cpu_seconds / self.bare_products


@dataclasses.dataclass(frozen=True, kw_only=True)
class Phase:
  """A part of a command.

  Attributes:
    name: what is done.
    cpu_seconds: process time of it.
  """

  name: str
  cpu_seconds: float


def write_log(rows: int, folder: pathlib.Path) -> None:
  """Writes a made-up log of about so many rows as Parquet files."""
  import pyarrow as pa
  from pyarrow import parquet

  folder.mkdir(parents=True)
  for number, start in enumerate(range(0, rows, _BLOCK)):
    generator = np.random.default_rng(number)
    count = max(1, min(_BLOCK, rows - start) // _STEPS)
    state = generator.normal(size=(count, _STATES))
    columns: dict[str, list[np.ndarray]] = {}
    for step in range(_STEPS):
      action = generator.integers(_ACTIONS, size=count)
      for name, values in (
        *((f'obs_{place}', state[:, place]) for place in range(_STATES)),
        ('action', action.astype(np.int8)),
        ('reward', -np.square(state[:, 0])),
        ('terminated', np.full(count, step == _STEPS - 1)),
      ):
        columns.setdefault(name, []).append(
          values.astype(np.float32) if values.dtype == np.float64 else values
        )
      state = 0.9 * state + 0.3 * generator.normal(size=state.shape)
      state[:, 0] += 0.3 * (action - 1.0)
    parquet.write_table(
      pa.table(
        {
          'episode': np.repeat(np.arange(count), _STEPS) + start // _STEPS,
          **{
            name: np.stack(each, axis=1).ravel()
            for name, each in columns.items()
          },
        }
      ),
      folder / f'part-{number:05d}.parquet',
    )


def bare_products(rows: int, size: int) -> float:
  """Returns the CPU seconds of h(s)'h(s) and h(s)'h(s') of so many rows.

  Args:
    rows: of the log.
    size: features of a state, with the constant.
  """
  generator = np.random.default_rng(0)
  now, later = generator.normal(size=(2, _PRODUCT, size))
  least = np.inf
  for _ in range(_ROUNDS):
    started = time.process_time()
    for other in (now, later):
      now.T @ other  # noqa: B018
    least = min(least, time.process_time() - started)
  return float(least) * rows / _PRODUCT


def scale(
  sizes: list[int], *, progress: stages.Progress = stages.silent
) -> list[Scale]:
  """Returns what a command takes for logs of some sizes, in new processes.

  Args:
    sizes: rows of the logs.
    progress: told which one is measured.

  Raises:
    RuntimeError: a command failed.
  """
  from dfiv_ope.agents.entries import lstd

  found = []
  with (
    tempfile.TemporaryDirectory() as directory,
    progress('Scale', len(sizes)) as update,
  ):
    for place, rows in enumerate(sizes):
      update(place, f'{rows:,} rows')
      folder = pathlib.Path(directory) / f'{rows}.parquet'
      write_log(rows, folder)
      used = _run(
        *('evaluate', folder, '--policy', 'uniform', '--method', 'lstd'),
        *('--discount', _DISCOUNT, '--seeds', 1, '--quiet'),
        *('--out', pathlib.Path(directory) / f'runs-{rows}'),
      )
      found.append(
        Scale(
          rows=rows,
          cpu_seconds=used.ru_utime + used.ru_stime,
          gigabytes=used.ru_maxrss / 1e6,
          bare_products=bare_products(
            rows, lstd.Config().settings.random_features + 1
          ),
        )
      )
  return found


def _run(*arguments: Any) -> Any:
  """Runs a command in a process of its own; returns what it used."""
  with tempfile.TemporaryFile('w+') as said:
    process = subprocess.Popen(
      [
        sys.executable,
        '-c',
        'from dfiv_ope.launch import main; main.main()',
        *map(str, arguments),
      ],
      stdout=subprocess.DEVNULL,
      stderr=said,
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
      said.seek(0)
      raise RuntimeError(f'The command failed: {said.read()[-500:]}')
  return used


def phases(rows: int) -> list[Phase]:
  """Returns where the time of an evaluation goes, in this process.

  Args:
    rows: of the made-up log.
  """
  found = [Phase(name='start of the command', cpu_seconds=time.process_time())]

  @contextlib.contextmanager
  def phase(name: str) -> Iterator[None]:
    started = time.process_time()
    yield
    found.append(Phase(name=name, cpu_seconds=time.process_time() - started))

  with tempfile.TemporaryDirectory() as directory:
    folder = pathlib.Path(directory) / 'log.parquet'
    write_log(rows, folder)
    with phase('imports'):
      from dfiv_ope.launch import runtime

      runtime.start()
      from dfiv_ope.datasets import columns, streams
      from dfiv_ope.evaluation import runs
      from dfiv_ope.ope import task as task_lib
    with phase('reading the log'):
      log = streams.Stream(
        path=folder, columns=columns.parse({}), discount=_DISCOUNT
      ).in_memory()
  with phase('finding the policy'):
    policy = task_lib.find_policy('uniform', log).policy
  task = task_lib.EvaluationTask(log, policy)
  _steps(runs.Evaluator(task), phase)
  from dfiv_ope.agents.entries import lstd

  size = lstd.Config().settings.random_features + 1
  return [
    *found,
    Phase(
      name='(bare products of the fit)',
      cpu_seconds=bare_products(len(log), size),
    ),
  ]


def _steps(
  evaluator: Any,
  phase: Callable[[str], contextlib.AbstractContextManager[None]],
) -> None:
  """Evaluates a task, step by step."""
  from dfiv_ope.agents import bandwidth_choice
  from dfiv_ope.agents.entries import lstd

  task, config = evaluator.task, lstd.Config()
  with phase('columns that nobody needs'):
    task.dropped  # noqa: B018
  with phase('scales and rows'):
    task.problem  # noqa: B018
    task.rows  # noqa: B018
  with phase('choice of the bandwidth'):
    bandwidth_choice.settle([task])
  with phase('fit'):
    learner = evaluator.learner('lstd', config, seed=0)
    learner.run()
  with phase('influence of episodes'):
    found = evaluator.influence(config, learner.agent)
    found.measure(learner.agent, learner.initial_values)
  if found.first_stage is not None:
    with phase('first stage'):
      found.first_stage.measure(learner.agent)
  with phase('cross-checks'):
    evaluator.checks(learner)
  with phase('overlap'):
    task.overlap  # noqa: B018
