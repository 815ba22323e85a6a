"""Problems: round trips, and which of their fields are in a key."""

import dataclasses
import json
import math

import numpy as np
import pytest

from dfiv_ope.ope import log_notes
from dfiv_ope.results import problems, rows

# What only describes a problem; all other fields define it.
DESCRIBING = {
  'simulated_task': {
    'dataset',
    'transitions',
    'episodes',
    'log_return',
    'log_standard_error',
    'overlap',
    'truth',
    'truth_standard_error',
    'size',
  },
  'user_log': {
    'dataset',
    'transitions',
    'episodes',
    'log_return',
    'log_standard_error',
    'overlap',
    'truth',
    'truth_standard_error',
    'policy',
    'action_labels',
    'notes',
  },
  'selection': set(),
  'coverage': set(),
  'suite_case': set(),
  'iv_design': set(),
}
OTHERS = {
  'overlap': None,
  'action_labels': ('up',),
  'notes': (),
  'judge': problems.Judge(version=2, rows=100, features=4),
  'parameters': {'n': 101, 'rho': 0.5},
}


def _changed(problem, name):
  """Returns a problem with another value of a field."""
  value = getattr(problem, name)
  if name in OTHERS:
    other = OTHERS[name]
  elif isinstance(value, problems.Problem):
    other = dataclasses.replace(value, digest='d2')
  else:
    other = f'{value}!' if isinstance(value, str) else value + 1
  return dataclasses.replace(problem, **{name: other})


def _key(problem, **fields):
  return rows.key(
    problem,
    **{
      'method': 'kiv',
      'config': {'a': 1},
      'seed': 0,
      'version': 1,
      'inference': {'resamples': 200, 'features': {'size': 300}},
      **fields,
    },
  )


def test_every_kind_is_among_the_examples(kinds):
  assert set(kinds) == set(problems.KINDS) == set(DESCRIBING)


def test_a_problem_comes_back_from_json(problem):
  text = json.dumps(problems.encode(problem), allow_nan=False)
  found = problems.Problem.from_json(json.loads(text))
  assert found == problem and type(found) is type(problem)
  assert type(problem).from_json(json.loads(text)) == problem


def test_what_defines_a_problem_is_in_its_key_and_nothing_else(problem):
  for field in dataclasses.fields(problem):
    same = _key(_changed(problem, field.name)) == _key(problem)
    assert same == (field.name in DESCRIBING[problem.kind]), field.name


def test_two_kinds_never_have_one_key(kinds):
  assert len({_key(problem) for problem in kinds.values()}) == len(kinds)


def test_a_judge_is_in_the_key_of_a_selection(kinds):
  choice = kinds['selection']
  for name in ('version', 'rows', 'features'):
    judge = dataclasses.replace(
      choice.judge, **{name: getattr(choice.judge, name) + 1}
    )
    assert _key(dataclasses.replace(choice, judge=judge)) != _key(choice)


def test_what_describes_the_asked_problem_is_not_in_a_selection_s_key(kinds):
  choice = kinds['selection']
  for name in DESCRIBING['user_log']:
    asked = _changed(choice.asked, name)
    assert _key(dataclasses.replace(choice, asked=asked)) == _key(choice), name


@pytest.mark.parametrize(
  'change',
  [
    {'method': 'fqe'},
    {'config': {'a': 2}},
    {'seed': 1},
    {'version': 2},
    {'inference': {'resamples': 500, 'features': {'size': 300}}},
    {'inference': {'resamples': 200, 'features': {'size': 100}}},
    {'inference': None},
  ],
)
def test_all_that_a_row_comes_from_is_in_its_key(kinds, change):
  problem = kinds['simulated_task']
  assert _key(problem, **change) != _key(problem)


def test_questions_are_those_of_rows_that_are_stored(problem):
  # Another one means that what is stored is run again.
  assert (
    problem.question
    == {
      'simulated_task': '33fec3ab61956d1b',
      'user_log': '8411e59ce158db6d',
      'selection': '8411e59ce158db6d',
      'coverage': '9dd739766ff06df2',
      'suite_case': '994023918b626255',
      'iv_design': '21bfc7a3b966e43a',
    }[problem.kind]
  )


def test_a_selection_has_the_question_of_the_runs_that_follow(kinds):
  log, choice = kinds['user_log'], kinds['selection']
  assert choice.question == log.question
  assert dataclasses.replace(log, truth=None, notes=()).question == log.question
  assert dataclasses.replace(log, discount=0.5).question != log.question
  # A dataset with a policy of its own asks in another way.
  assert kinds['simulated_task'].question != log.question


def test_a_coverage_study_is_one_of_many_logs(kinds):
  one = kinds['coverage']
  assert dataclasses.replace(one, log=39).study == one.study
  assert dataclasses.replace(one, log=39).question != one.question
  for field in dataclasses.fields(one):
    if field.name != 'log':
      assert _changed(one, field.name).study != one.study, field.name


def test_a_selection_on_a_simulated_task_comes_back(kinds):
  choice = dataclasses.replace(
    kinds['selection'], asked=kinds['simulated_task']
  )
  assert problems.Problem.from_json(problems.encode(choice)) == choice


def test_a_number_that_is_not_known_describes_as_none(kinds):
  log = dataclasses.replace(kinds['user_log'], log_standard_error=math.nan)
  found = problems.Problem.from_json(problems.encode(log))
  assert found.log_standard_error is None
  assert found.question == log.question


def test_numbers_of_numpy_are_numbers(kinds):
  log = dataclasses.replace(kinds['user_log'], log_return=np.float64(1.0))
  assert problems.Problem.from_json(problems.encode(log)).log_return == 1.0


def _encoded(problem, **changes):
  return {**problems.encode(problem), **changes}


@pytest.mark.parametrize(
  'kind, changes, words',
  [
    (
      'user_log',
      {'kind': 'ope'},
      "its problem is of the kind 'ope', but only simulated_task, user_log, "
      'selection, coverage, suite_case, iv_design are known',
    ),
    ('user_log', {'kind': ['ope']}, "its problem is of the kind ['ope'],"),
    (
      'user_log',
      {'later': 1},
      "problem misses a field or has one too many: 'later'",
    ),
    (
      'user_log',
      {'digest': ['d']},
      "problem.digest should be of type str, got ['d']",
    ),
    ('user_log', {'digest': None}, 'problem does not say its digest'),
    (
      'user_log',
      {'discount': '0.9'},
      "problem.discount should be of type float, got '0.9'",
    ),
    ('user_log', {'discount': math.nan}, 'problem.discount should be'),
    ('user_log', {'discount': None}, 'problem does not say its discount'),
    (
      'user_log',
      {'transitions': 10.5},
      'problem.transitions should be of type int, got 10.5',
    ),
    ('user_log', {'actions': True}, 'problem.actions should be of type int'),
    (
      'user_log',
      {'log_return': math.inf},
      'problem.log_return should be of type float, got inf',
    ),
    ('user_log', {'overlap': 0.5}, 'problem.overlap should be an object'),
    (
      'user_log',
      {'overlap': {'steps': 1}},
      "problem.overlap misses a field or has one too many: 'agreement'",
    ),
    (
      'user_log',
      {'overlap': {'steps': 1, 'agreement': 1.0, 'unseen': {'left': 0.5}}},
      "problem.overlap.unseen should have whole numbers as keys, got 'left'",
    ),
    ('user_log', {'notes': [{'kind': 'odd'}]}, "There is no note 'odd'"),
    (
      'user_log',
      {'notes': [{'kind': 'categorical', 'column': 'x'}]},
      "A note 'categorical' has the number 'values', but this one has only",
    ),
    ('user_log', {'notes': 'none'}, 'problem.notes should be'),
    (
      'user_log',
      {'action_labels': [1]},
      'problem.action_labels[0] should be of type str, got 1',
    ),
    (
      'selection',
      {'asked': {'kind': 'iv_design'}},
      "its problem.asked is of the kind 'iv_design', but only simulated_task, "
      'user_log are known',
    ),
    (
      'selection',
      {'asked': {'kind': 'user_log'}},
      "problem.asked misses a field or has one too many: 'digest'",
    ),
    ('selection', {'judge': 3}, 'problem.judge should be an object, got 3'),
    ('coverage', {'level': 'high'}, 'problem.level should be of type float'),
    (
      'iv_design',
      {'parameters': {'n': math.nan}},
      'problem.parameters.n should be finite, got nan',
    ),
    (
      'iv_design',
      {'parameters': {'n': [1]}},
      'parameters.n should be a number or a word, got [1]',
    ),
    ('iv_design', {'name': 3}, 'problem.name should be of type str, got 3'),
  ],
)
def test_a_problem_that_is_not_sound_is_refused(kinds, kind, changes, words):
  with pytest.raises(ValueError) as refusal:
    problems.Problem.from_json(_encoded(kinds[kind], **changes))
  assert words in str(refusal.value)


@pytest.mark.parametrize('data', [None, 3, [], 'user_log'])
def test_what_is_no_object_is_no_problem(data):
  with pytest.raises(ValueError, match='its problem is of the kind None'):
    problems.Problem.from_json(data)


def test_a_kind_reads_only_itself(kinds):
  with pytest.raises(ValueError, match='but only coverage are known'):
    problems.Coverage.from_json(problems.encode(kinds['iv_design']))


def test_notes_of_a_log_are_numbers_until_they_are_shown(kinds):
  data = problems.encode(kinds['user_log'])
  assert data['notes'] == [
    {'kind': 'cut_episodes', 'column': '', 'numbers': {'episodes': 2.0}},
    {'kind': 'constant', 'column': 'age', 'numbers': {}},
  ]
  found = problems.UserLog.from_json(data)
  assert [note.sentence for note in found.notes] == [
    '2 episodes ended without a final observation: the last step was dropped.',
    'Observation age is constant, so it tells nothing.',
  ]
  assert all(isinstance(note, log_notes.Note) for note in found.notes)
