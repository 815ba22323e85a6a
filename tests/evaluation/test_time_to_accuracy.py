"""When the estimates of a learner are right, and stay so."""

import dataclasses

import numpy as np
import pytest

import dfiv_ope
from dfiv_ope import agents
from dfiv_ope.agents import configured
from dfiv_ope.evaluation import runs, time_to_accuracy
from dfiv_ope.launch.reporting import accuracy_figure
from dfiv_ope.ope import task as task_lib

_COURSE = time_to_accuracy.Course(
  method='fqe',
  config='default',
  seed=0,
  updates=(10, 20, 30, 40),
  cpu_seconds=(1.0, 2.0, 3.0, 4.0),
  estimates=(-2.0, -1.5, -2.05, -1.97),
  failure='',
)


@pytest.mark.parametrize(
  'truth, within, seconds',
  [
    (-2.0, 0.03, 3.0),  # Right at once, but that did not last.
    (-2.0, 0.02, 4.0),
    (-2.0, 0.01, None),
    (-2.0, 0.3, 1.0),
  ],
)
def test_what_counts_is_that_estimates_stay(truth, within, seconds):
  assert _COURSE.reached(truth, within) == seconds
  stopped = dataclasses.replace(_COURSE, failure='estimate outside')
  assert stopped.reached(truth, within) is None


def test_a_course_has_the_evaluation_points_of_the_run(monkeypatch, tmp_path):
  class Learner:
    divergence = ''

    def __init__(self, seed):
      self.history = {'updates': [], 'estimate': []}
      self.seed = seed

    @property
    def done(self):
      return len(self.history['updates']) == 2

    def step(self):
      self.history['updates'].append(5 * (len(self.history['updates']) + 1))
      self.history['estimate'].append(0.5 + self.seed)

  generator = np.random.default_rng(0)
  log = dfiv_ope.Log.from_arrays(
    generator.normal(size=(60, 1)),
    np.arange(60) % 2,
    generator.normal(size=60),
    np.arange(60) % 5 == 4,
    discount=0.9,
  )
  evaluator = runs.Evaluator(
    task_lib.EvaluationTask(log, task_lib.find_policy('uniform', log).policy)
  )
  monkeypatch.setattr(
    evaluator, 'learner', lambda method, config, *, seed: Learner(seed)
  )
  monkeypatch.setattr(agents, 'load', lambda name: None)
  courses = time_to_accuracy.measure(
    evaluator,
    [configured.configure('dfiv', preset) for preset in ('default', 'paper')],
    seeds=2,
  )
  assert [(each.config, each.seed) for each in courses] == [
    ('default', 0),
    ('default', 1),
    ('paper', 0),
    ('paper', 1),
  ]
  for each in courses:
    assert each.updates == (5, 10)
    assert each.estimates == (0.5 + each.seed,) * 2
    assert 0.0 <= each.cpu_seconds[0] <= each.cpu_seconds[1]
  files = accuracy_figure.write(courses, 0.5, 0.03, tmp_path)
  text = next(each for each in files if each.suffix == '.svg').read_text()
  assert text.count('DFIV, default') == 1 and 'DFIV, paper' in text
