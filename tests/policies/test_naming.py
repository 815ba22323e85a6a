"""Policies as `--policy` names them: SPEC, or NAME=SPEC."""

import re

import pytest

from dfiv_ope.policies import naming


def test_a_policy_is_called_by_its_name_or_by_what_it_is(tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  (tmp_path / 'a=b').mkdir()
  assert naming.named(['even=uniform', 'own:right', 'a=b']) == {
    'even': 'uniform',
    'own:right': 'own:right',
    'a=b': 'a=b',
  }
  assert naming.named([]) == {}


@pytest.mark.parametrize(
  'policies, words',
  [
    (['=uniform'], "SPEC or NAME=SPEC, got '=uniform'"),
    (['even='], "SPEC or NAME=SPEC, got 'even='"),
    (['even=uniform', 'even=own:right'], "Two policies are called 'even'"),
  ],
)
def test_empty_and_repeated_names_are_refused(policies, words):
  with pytest.raises(ValueError, match=words):
    naming.named(policies)


def test_known_values_are_given_by_name():
  assert naming.truths(['a=1.5', 'b=-2'], ['a', 'b']) == {'a': 1.5, 'b': -2.0}
  assert naming.truths(['3'], ['a']) == {'a': 3.0}
  assert naming.truths(['x=y=3'], ['x=y']) == {'x=y': 3.0}


@pytest.mark.parametrize(
  'texts, words',
  [
    (['c=1'], "is of the policy 'c', but the policies are a, b"),
    (['1'], 'VALUE alone is for one policy'),
    (['a=nan'], 'NAME=VALUE with a finite number'),
    (['a=much'], 'NAME=VALUE with a finite number'),
    (['a=1', 'a=2'], "twice for 'a'"),
  ],
)
def test_values_that_are_none_are_refused(texts, words):
  with pytest.raises(ValueError, match=re.escape(words)):
    naming.truths(texts, ['a', 'b'])


def test_a_comparison_needs_two_policies():
  assert naming.several(['a=uniform', 'columns']) == {
    'a': 'uniform',
    'columns': 'columns',
  }
  with pytest.raises(ValueError, match='at least two policies, got 0'):
    naming.several([])
  with pytest.raises(ValueError, match="Two policies are called 'a'"):
    naming.several(['a=uniform', 'a=columns'])
