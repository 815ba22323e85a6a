"""A new estimator is its module and its entry; all others read them."""

import textwrap

import numpy as np
import pytest

from dfiv_ope import agents, registry
from dfiv_ope.agents.entries import base
from dfiv_ope.datasets import log as log_lib
from dfiv_ope.evaluation import result_rows, runs, sweep_spec
from dfiv_ope.iv import methods
from dfiv_ope.launch.experiments import plan
from dfiv_ope.launch.reporting import figures, method_labels
from dfiv_ope.ope import task
from dfiv_ope.policies import finite
from dfiv_ope.results import problems, rows

_TOY = textwrap.dedent('''
    """The same value everywhere: sum(r) / sum(1 - gamma d)."""

    import tensorflow as tf

    from dfiv_ope.agents import network_agent
    from dfiv_ope.ope import bellman


    class Toy(network_agent.NetworkAgent):

      def __init__(self, config):
        super().__init__('toy')
        self.config = config
        self._value = tf.Variable(0.)

      def solve(self, parts):
        reward = change = 0.
        for rows in parts():
          reward += tf.reduce_sum(rows.outcome)
          change += tf.reduce_sum(bellman.difference(
              lambda decision: tf.ones_like(decision.observation[:, :1]),
              rows.treatment))
        self._value.assign(reward / change)
        return {}

      def predict(self, decision):
        return self._value * tf.ones_like(decision.observation[:, :1])


    def make(config, problem, *, seed):
      return Toy(config)
''')
_ENTRY = registry.Entry(
  version=3,
  quick=('updates=7',),
  when='When values are all the same.',
  configs={'default': base.Config(), 'paper': base.Config(updates=20)},
  style=registry.Style(
    label='Toy', family=registry.CLOSED_FORM, color='#123456', marker='v'
  ),
  variants={'solve': {'whole': 'Toy', 'half': 'Half a toy'}},
)


@pytest.fixture
def toy(tmp_path, monkeypatch):
  """Adds a module to the agents, and an entry to their registry."""
  (tmp_path / 'toy.py').write_text(_TOY)
  entries = {**agents.ENTRIES, 'toy': _ENTRY}
  monkeypatch.setattr(agents, '__path__', [*agents.__path__, str(tmp_path)])
  monkeypatch.setattr(agents, 'ENTRIES', entries)
  monkeypatch.setattr(agents, 'NAMES', tuple(entries))
  monkeypatch.setitem(sweep_spec._KNOWN, 'methods', tuple(entries))


def _row(method, **config):
  return rows.Row(
    problem=problems.UserLog(digest='d', discount=0.9, actions=2, target='t'),
    method=method,
    config={'type': 'Config', **config},
    seed=0,
    version=1,
    versions={'dfiv-ope': '0'},
    metrics={'estimate': 0.0},
  )


def test_names_are_those_of_the_entries():
  assert tuple(agents.ENTRIES) == agents.NAMES
  assert tuple(methods.ENTRIES) == methods.NAMES


def test_a_new_estimator_is_run(toy):
  generator = np.random.default_rng(0)
  ends = np.tile(np.arange(5) == 4, 30)
  log = log_lib.Log.from_arrays(
    generator.normal(size=(150, 2)),
    generator.integers(2, size=150),
    np.ones(150),
    ends,
    discount=0.5,
  )
  evaluator = runs.Evaluator(
    task.EvaluationTask(log, finite.Uniform(num_actions=2))
  )
  run = evaluator.run('toy', agents.ENTRIES['toy'].configs['default'], seed=0)
  # Four steps of five go on: 5 c = 5 + 4 * 0.5 c.
  assert run.metrics['estimate'] == pytest.approx(5.0 / 3.0)
  assert run.resamples.shape == evaluator.log_average().resamples.shape
  assert result_rows.version('toy') == 3


def test_a_new_estimator_is_swept(toy):
  swept = plan.sweep(
    sweep_spec.SweepSpec(
      tasks=('catch',),
      noises=(0.0,),
      methods=('toy', 'lstd'),
      seeds=1,
      configs=('paper',),
      budget='quick',
    )
  )
  assert [(job.method, job.custom) for job in swept] == [
    ('log', False),
    ('toy', True),
    ('lstd', False),
  ]
  assert swept[1].config.updates == 7
  assert swept[1].version == 3


def test_a_new_estimator_stands_in_the_report(toy):
  labels = method_labels.variants([_row('toy'), _row('fqe'), _row('dfiv')])
  assert labels == ['Toy', 'FQE', 'DFIV']
  assert method_labels.order(labels) == ['Toy', 'DFIV', 'FQE']  # By families.
  assert method_labels.family('toy') == 'closed form'
  style = figures.styles(['Toy'], {'Toy': 'toy'})['Toy']
  assert (style.color, style.marker) == ('#123456', 'v')


def test_a_variant_has_its_own_label(toy):
  made = [
    _row('toy', solve=solve, size=2) for solve in ('whole', 'half', 'third')
  ]
  assert method_labels.variants(made) == [
    'Toy',
    'Half a toy',
    'Toy (solve=third)',
  ]
  assert method_labels.order(method_labels.variants(made)) == [
    'Toy',
    'Toy (solve=third)',
    'Half a toy',
  ]


def test_a_method_that_nobody_registered_is_shown_all_the_same():
  assert method_labels.variants([_row('new')]) == ['new']
  assert method_labels.family('new') == 'other'


def test_a_method_looks_the_same_in_regression_and_evaluation():
  for name in set(agents.NAMES) & set(methods.NAMES):
    assert agents.ENTRIES[name].style == methods.ENTRIES[name].style


def test_an_unknown_family_is_refused():
  with pytest.raises(ValueError, match="no family 'deep'. Choose from clos"):
    registry.Style(label='It', family='deep', color='#000000')


@pytest.mark.parametrize('room', [agents, methods])
def test_an_unknown_method_is_refused(room):
  with pytest.raises(ValueError, match="no method 'ols'"):
    room.load('ols')
