"""Policies as `--policy` names them: SPEC, or NAME=SPEC."""

import pytest

from dfiv_ope.policies import naming


def test_a_policy_is_called_by_its_name_or_by_what_it_is(tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  (tmp_path / 'a=b').mkdir()
  assert naming.named(['even=uniform', 'own:right', 'a=b']) == {
      'even': 'uniform', 'own:right': 'own:right', 'a=b': 'a=b'}
  assert naming.named([]) == {}


@pytest.mark.parametrize('policies, words', [
    (['=uniform'], "SPEC or NAME=SPEC, got '=uniform'"),
    (['even='], "SPEC or NAME=SPEC, got 'even='"),
    (['even=uniform', 'even=own:right'], "Two policies are called 'even'")])
def test_empty_and_repeated_names_are_refused(policies, words):
  with pytest.raises(ValueError, match=words):
    naming.named(policies)
