"""A log that is read in parts by a real Ray cluster, which loses a node."""

import pathlib

import numpy as np
import pyarrow as pa
from pyarrow import parquet
import pytest

from dfiv_ope.agents import memory
from dfiv_ope.agents.entries import kiv as kiv_entry
from dfiv_ope.agents.entries import lstd as lstd_entry
from dfiv_ope.datasets import columns as columns_lib
from dfiv_ope.datasets import streams
from dfiv_ope.launch.experiments import stream_run

_STORE = 100_000_000  # bytes
# It takes its time on nodes, so that one can be lost in the middle of a task.
_POLICY = """
import sys
import time

import numpy as np

_SLOW = any('default_worker' in each for each in sys.argv)


def policy(observations):
  time.sleep(0.1 * _SLOW)
  return 0.1 + 0.8 * np.eye(2)[(observations[:, 0] > 0.0).astype(int)]
"""


@pytest.fixture
def stream(tmp_path, monkeypatch):
  """Sixteen parts in eight groups."""
  monkeypatch.setattr(memory, '_PART_ROWS', 32)
  monkeypatch.chdir(tmp_path)
  (tmp_path / 'slow_policy.py').write_text(_POLICY)
  generator = np.random.default_rng(0)
  observation = generator.normal(size=(480, 2))
  action = generator.integers(2, size=480)
  folder = tmp_path / 'log.parquet'
  folder.mkdir()
  table = pa.table(
    {
      'episode': np.repeat(np.arange(60), 8),
      'obs_0': observation[:, 0],
      'obs_1': observation[:, 1],
      'action': action,
      'reward': observation[:, 0] * (2 * action - 1),
      'terminated': np.tile(np.arange(8) == 7, 60),
    }
  )
  for place, (start, end) in enumerate(((0, 203), (203, 480))):
    parquet.write_table(
      table.slice(start, end - start), folder / f'{place}.parquet'
    )
  return streams.Stream(
    path=folder, columns=columns_lib.parse({'actions': 2}), discount=0.9
  )


@pytest.mark.slow
def test_a_cluster_that_loses_a_node_finds_the_same_digits(stream):
  cluster_utils = pytest.importorskip('ray.cluster_utils')
  survey = stream.survey()

  def evaluate(**where):
    return stream_run.evaluate(
      stream,
      'slow_policy:policy',
      {
        'lstd': lstd_entry.Config(random_features=10),
        'kiv': kiv_entry.Config(random_features=10),
      },
      seeds=2,
      scratch=stream.path,
      survey=survey,
      group=2,
      **where,
    ).estimates

  here = evaluate()
  cluster = cluster_utils.Cluster(
    initialize_head=True,
    head_node_args={
      'num_cpus': 1,
      'include_dashboard': False,
      'object_store_memory': _STORE,
    },
  )
  try:
    node = cluster.add_node(num_cpus=1, object_store_memory=_STORE)
    cluster.wait_for_nodes()
    (raylet,) = node.all_processes['raylet']
    lost = []

    def lose(share):
      # It holds what came of groups, and is in the middle of another.
      if not lost and share > 0.3 and _works(raylet.process.pid):
        cluster.remove_node(node, allow_graceful=False)  # by SIGKILL
        lost.append(share)

    there = evaluate(ray=cluster.address, progress=lose)
  finally:
    cluster.shutdown()
  assert lost and lost[0] < 1.0
  for method, found in here.items():
    for one, other in zip(found.runs, there[method].runs, strict=True):
      assert one.metrics == other.metrics
      np.testing.assert_array_equal(one.resamples, other.resamples)


def _works(raylet):
  """Whether a worker of a node is at work, as Ray titles its processes."""
  children = pathlib.Path(f'/proc/{raylet}/task/{raylet}/children')
  return any(
    'ray::_work' in pathlib.Path(f'/proc/{pid}/cmdline').read_text()
    for pid in children.read_text().split()
    if pathlib.Path(f'/proc/{pid}/cmdline').exists()
  )
