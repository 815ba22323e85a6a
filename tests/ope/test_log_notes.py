"""Notes on logs: numbers that become sentences when they are shown."""

import pytest

from dfiv_ope.ope import log_notes

SENTENCES = [
  (
    log_notes.Note(kind=log_notes.CUT, numbers={'episodes': 1}),
    '1 episode ended without a final observation: the last step was dropped.',
    False,
  ),
  (
    log_notes.Note(kind=log_notes.EMPTY, numbers={'episodes': 1200}),
    '1,200 episodes had no transition left: dropped.',
    False,
  ),
  (
    log_notes.Note(kind=log_notes.CONSTANT, column='age'),
    'Observation age is constant, so it tells nothing.',
    False,
  ),
  (
    log_notes.Note(
      kind=log_notes.PRECISION,
      column='t',
      numbers={'mean': 1.7e12, 'spread': 3.0, 'digits': 4.1},
    ),
    'Observation t has mean 1.7e+12 and spread 3: float64 keeps 4 digits of '
    'its changes. Subtract an offset before the log is written.',
    True,
  ),
  (
    log_notes.Note(
      kind=log_notes.OUTLIERS,
      column='x',
      numbers={'far': 3, 'rows': 5000, 'ranges': 100.0, 'sampled': 0.0},
    ),
    '3 of 5,000 values of observation x lie more than 100 times its '
    'interquartile range from its median. Long tails are drawn in, but errors '
    'of measurement are not told from them: correct them, or take logarithms.',
    True,
  ),
  (
    log_notes.Note(
      kind=log_notes.CATEGORICAL, column='state', numbers={'values': 64}
    ),
    'Observation state takes 64 whole numbers and looks categorical. Methods '
    'take near numbers for similar states: if these are names of states, '
    'import the log with --categorical state (categorical=[...] of '
    'dfiv_ope.Log).',
    True,
  ),
  (
    log_notes.Note(
      kind=log_notes.IRRELEVANT, column='clock, room', numbers={'columns': 2}
    ),
    'Observations clock, room are left out: the target policy does not look '
    'at them, and they predict nothing on held-out episodes. Say '
    '--all-columns (all_columns=True) to keep them.',
    False,
  ),
  (
    log_notes.Note(
      kind=log_notes.IRRELEVANT, column='clock', numbers={'columns': 1}
    ),
    'Observation clock is left out: the target policy does not look at it, '
    'and it predicts nothing on held-out episodes. Say --all-columns '
    '(all_columns=True) to keep it.',
    False,
  ),
  (
    log_notes.Note(kind=log_notes.TRANSITIONS),
    'The log is of transitions without episodes: intervals resample pieces of '
    'rows that chain, often single rows, and are too narrow where pieces of '
    'one trajectory depend on each other. The average return of the log is '
    'that of pieces, not of a policy.',
    True,
  ),
  (
    log_notes.Note(
      kind=log_notes.SAMPLED,
      numbers={
        'episodes': 2_000,
        'of_episodes': 40_000,
        'rows': 49_990,
        'of_rows': 1_000_000,
      },
    ),
    'The log was read in parts: estimates, intervals and the effective sample '
    'size are of all 1,000,000 rows; overlap, columns that are left out and '
    'what unrelated estimators say are of a seeded sample of 2,000 of 40,000 '
    'whole episodes (49,990 rows).',
    False,
  ),
]


@pytest.mark.parametrize(
  'note, sentence, doubt',
  SENTENCES,
  ids=[f'{note.kind}-{note.column}' for note, *_ in SENTENCES],
)
def test_a_note_is_a_sentence_and_may_be_a_doubt(note, sentence, doubt):
  assert (note.sentence, note.doubt) == (sentence, doubt)


def test_every_kind_has_its_sentence_above():
  assert {note.kind for note, *_ in SENTENCES} == set(log_notes._SENTENCES)


def test_a_count_of_a_sample_is_about_right():
  note = log_notes.Note(
    kind=log_notes.OUTLIERS,
    column='x',
    numbers={'far': 6, 'rows': 9e6, 'ranges': 100.0, 'sampled': 1.0},
  )
  assert note.sentence.startswith('About 6 of 9,000,000 values of observation')


def test_a_note_that_cannot_be_said_is_refused():
  with pytest.raises(
    ValueError,
    match=(
      "There is no note 'odd'. Choose one of cut_episodes, empty_episodes"
    ),
  ):
    log_notes.Note(kind='odd')
  with pytest.raises(
    ValueError,
    match=(
      "A note 'precision' has the number 'spread', but this one has only mean."
    ),
  ):
    log_notes.Note(kind=log_notes.PRECISION, column='t', numbers={'mean': 1.0})
