"""Rows of every kind of problem, each field with a value of its own."""

import pytest

from dfiv_ope.ope import importance, log_notes, neighbours, overlap
from dfiv_ope.results import problems
from dfiv_ope.results import rows as rows_lib

_OVERLAP = overlap.Overlap(
  steps=10,
  agreement=0.5,
  unseen={2: 0.25},
  coverage=neighbours.Coverage(share=0.9, near=0.1, queries=10, references=10),
  weights=importance.Weights(
    effective_steps=8.0,
    effective_episodes=2.0,
    largest=3.0,
    largest_share=0.2,
    mean=1.0,
    mean_error=0.1,
    estimated=True,
  ),
)
_DATASET = {
  'dataset': 'shop',
  'digest': 'd1',
  'discount': 0.9,
  'actions': 3,
  'target': 't1',
  'transitions': 10,
  'episodes': 2,
  'log_return': 1.0,
  'log_standard_error': 0.1,
  'overlap': _OVERLAP,
  'truth': 2.0,
  'truth_standard_error': 0.01,
}
TASK = problems.SimulatedTask(
  task='catch',
  action_noise=0.2,
  epsilon=0.1,
  target_epsilon=0.0,
  size=9,
  **_DATASET,
)
LOG = problems.UserLog(
  policy='mine',
  action_labels=('left', 'right', 'stay'),
  notes=(
    log_notes.Note(kind=log_notes.CUT, numbers={'episodes': 2.0}),
    log_notes.Note(kind=log_notes.CONSTANT, column='age'),
  ),
  **_DATASET,
)
SELECTION = problems.Selection(
  asked=LOG,
  candidates='c1',
  judge=problems.Judge(version=1, rows=100, features=4),
)
COVERAGE = problems.Coverage(
  dataset='catch',
  task='catch',
  action_noise=0.2,
  epsilon=0.1,
  discount=0.9,
  actions=3,
  target='t1',
  simulation=1,
  first_seed=7,
  log=0,
  seeds=3,
  level=0.95,
  truth=1.0,
)
CASE = problems.SuiteCase(
  case='graph-long', log=1, cases=1, seeds=2, level=0.95, ranked=True
)
DESIGN = problems.IVDesign(name='demand', parameters={'n': 100, 'rho': 0.5})
KINDS = {
  each.kind: each for each in (TASK, LOG, SELECTION, COVERAGE, CASE, DESIGN)
}


@pytest.fixture
def make_row():
  """Makes a row of a problem, with all the metrics that it should have."""

  def make(problem=DESIGN, **fields):
    metrics = {name: 1.0 + place for place, name in enumerate(problem.measured)}
    return rows_lib.Row(
      **{
        'problem': problem,
        'method': 'kiv',
        'config': {'type': 'Config', 'tolerance': 1e-8},
        'seed': 3,
        'version': 2,
        'versions': {'python': '3.11'},
        'metrics': metrics,
        'cpu_seconds': 0.5,
        **fields,
      }
    )

  return make


@pytest.fixture(params=KINDS)
def problem(request):
  """A problem of each kind."""
  return KINDS[request.param]


@pytest.fixture
def kinds():
  """All of them by their kind."""
  return KINDS
