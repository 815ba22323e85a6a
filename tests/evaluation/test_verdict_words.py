"""What is said of answers, and what is not concluded from them."""

from dfiv_ope.evaluation import inference, trust, verdict


def test_a_policy_that_leaves_the_log_is_told():
  said = verdict.far('nearest', {'beyond_share': 0.514})
  assert said.startswith('51 % of the states and actions')
  assert not verdict.far('nearest', {'beyond_share': 0.28})
  assert not verdict.far('lstd', {})
  answers = {'nearest': verdict.Answer({'beyond_share': 0.514})}
  assert said in verdict.collect(answers, support=None, level=0.95)


def test_few_effective_episodes_are_said():
  said = verdict.few_effective('tis', {'effective_episodes': 7.31})
  assert said.startswith('tis rests on the equivalent of 7.3 episodes')
  assert not verdict.few_effective('tis', {'effective_episodes': 20.0})
  assert not verdict.few_effective('lstd', {})
  missing = verdict.mean_weight('tis', {'mean_weight': 0.62})
  assert missing.startswith('The weights of episodes in tis average 0.62 inst')
  assert not verdict.mean_weight('tis', {'mean_weight': 0.9})
  assert not verdict.mean_weight('lstd', {})
  answer = verdict.Answer({'effective_episodes': 7.31, 'mean_weight': 0.62})
  judged = trust.judge(answer, None)
  assert judged.grade == trust.DO_NOT
  assert said.replace('tis', 'It', 1) in judged.reasons
  assert missing.replace('tis', 'the estimate') in judged.reasons
  # They are said once, with the verdict.
  assert verdict.collect({'tis': answer}, support=None, level=0.95) == []


def test_nothing_is_concluded_from_a_method_that_is_not_trusted():
  better = inference.Interval(1.0, 0.5, 1.5, 0.25, 0.0, 0.0)
  answers = {
    name: verdict.Answer({}, difference=better) for name in ('tis', 'lstd')
  }
  judged = {
    'tis': trust.Trust(trust.DO_NOT, ('Few episodes.',)),
    'lstd': trust.Trust(trust.TRUST, ()),
  }
  concluded = [
    each.split(':')[0]
    for each in verdict.collect(
      answers,
      support=verdict.Support('good'),
      level=0.95,
      distrusted=trust.distrusted(judged),
    )
    if 'The target policy does better' in each
  ]
  assert concluded == ['Paired difference to the behaviour policy by lstd']
  assert inference.too_few(100, 1_000, 0, 1.9) and not inference.too_few(
    100, 1_000, 0, 2.0
  )
