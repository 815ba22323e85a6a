"""A log that is wrong ends with a sentence that names the place.

The command turns ValueError and OSError into one sentence and exit code 2, and
anything else would be a bug; so that is what is asked for here, and that
nothing is left in the output directory.
"""

import pytest

HEADER = 'episode,step,obs_0,obs_1,action,reward,terminated,truncated'
GOOD = ('0,0,.1,.2,1,1.5,0,0', '0,1,.3,.4,0,2.5,1,0', '1,0,.5,.6,1,3.5,0,0')
PROBABLE = (
  f'{HEADER},behaviour_probability,target_probability_0,target_probability_1'
)


def rows(*lines, header=HEADER):
  return '\n'.join([header, *lines, '']).encode()


def probable(behaviour, left, right):
  return rows(
    f'0,0,.1,.2,1,1.5,0,0,{behaviour},{left},{right}',
    '0,1,.1,.2,0,1.5,1,0,1,1,0',
    header=PROBABLE,
  )


# Name -> content of the CSV, options, words that the sentence must have.
CSV = {
  'empty file': (b'', {}, 'log.csv is empty'),
  'header only': (rows(), {}, 'no action'),
  'wrong delimiter': (
    rows(*GOOD).replace(b',', b';'),
    {},
    'separated by commas',
  ),
  'missing action': (
    rows(*GOOD).replace(b'action', b'act'),
    {},
    "no column 'action' for action. Its columns are: 'episode', 'step'",
  ),
  'missing reward': (
    rows(*GOOD).replace(b'reward', b'r'),
    {},
    "no column 'reward'",
  ),
  'missing episode': (
    rows(*GOOD).replace(b'episode', b'id'),
    {},
    "no column 'episode'",
  ),
  'missing observations': (
    rows(*GOOD).replace(b'obs', b'x'),
    {},
    "no column 'obs*'",
  ),
  'missing column asked for': (
    rows(*GOOD),
    {'step': 'time'},
    "no column 'time' for step",
  ),
  'column twice': (
    rows(*GOOD).replace(b'obs_1', b'obs_0'),
    {},
    "'obs_0' occurs twice",
  ),
  'column for two things': (
    rows(*GOOD),
    {'reward': 'action'},
    "'action' occurs twice",
  ),
  'nobody says how episodes end': (
    rows(*GOOD).replace(b'terminated', b'x'),
    {},
    'Say --ends',
  ),
  'said twice how episodes end': (
    rows(*GOOD),
    {'ends': 'truncated'},
    'Leave it out',
  ),
  'ends otherwise': (rows(*GOOD), {'ends': 'badly'}, "got 'badly'"),
  'unknown name in the mapping': (
    rows(*GOOD),
    {'colour': 'red'},
    'A mapping has no colour. Its names',
  ),
  'mapping of another kind': (
    rows(*GOOD),
    {'action': 3},
    'action should be the name of a column',
  ),
  'one label': (rows(*GOOD), {'actions': 'left'}, 'at least two labels'),
  'labels twice': (rows(*GOOD), {'actions': '0,1,1'}, "'1' occurs twice"),
  'labels that differ by blanks': (
    rows('0,0,.1,.2,a,1,0,0', '0,1,.1,.2,b,1,0,0', '0,2,.1,.2,a ,1,1,0'),
    {},
    "row 4 (episode 0): the labels 'a' and 'a ' differ only by blanks",
  ),
  'labels that differ by blanks and are known': (
    rows('0,0,.1,.2,a,1,0,0', '0,1,.1,.2, a,1,1,0'),
    {'actions': 'a,b'},
    "row 3 (episode 0): the labels ' a' and 'a' differ only by blanks",
  ),
  'labels of episodes that differ by blanks': (
    rows('p,0,.1,.2,a,1,1,0', 'p ,0,.1,.2,b,1,1,0'),
    {},
    "row 3 (episode p): the labels 'p' and 'p ' differ only by blanks",
  ),
  'a label with a command for the terminal': (
    rows('0,0,.1,.2,a,1,0,0', '0,1,.1,.2,\033[31mb,1,1,0'),
    {},
    r"row 3 (episode 0): the label '\x1b[31mb' has a control character",
  ),
  'a label of two lines': (
    rows('0,0,.1,.2,a,1,0,0', '0,1,.1,.2,"b\nc",1,1,0'),
    {},
    r"the label 'b\nc' has a control character",
  ),
  'an episode with a command for the terminal': (
    rows('\033[2J,0,.1,.2,a,1,0,0'),
    {},
    r"row 2 (episode '\x1b[2J'): the label",
  ),
  'more actions than there are': (
    rows(*GOOD),
    {'actions': 300_000_000},
    'at most 10,000 actions, got 300000000',
  ),
  'more actions than numbers': (
    rows(*GOOD),
    {'actions': '9' * 5000},
    'at most 10,000 actions, got 99',
  ),
  'steps that a float cannot tell apart': (
    rows(f'0,{2**53},.1,.2,1,1,0,0', f'0,{2**53 + 1},.1,.2,0,1,1,0'),
    {},
    'row 2 (episode 0): step is 2^53 or more',
  ),
  'empty rows without end': (
    rows(*GOOD) + b'\n' * 3_000_000,
    {},
    'more than 1,048,576 empty rows',
  ),
  'a header without end': (
    b'a,' * 2**23 + b'b\n',
    {},
    'a first row of more than 16,777,216',
  ),
  'mixed types': (
    rows(*GOOD, '1,1,abc,.6,1,1,1,0'),
    {},
    "log.csv, row 5 (episode 1): obs_0 is 'abc', which is not a number",
  ),
  'words for a reward': (
    rows('0,0,.1,.2,1,high,1,0'),
    {},
    "row 2 (episode 0): reward is 'high', which is not a number",
  ),
  'a flag that is none': (
    rows('0,0,.1,.2,1,1,maybe,0'),
    {},
    "row 2 (episode 0): terminated is 'maybe'",
  ),
  'a flag that is a number': (
    rows('0,0,.1,.2,1,1,2,0'),
    {},
    "row 2 (episode 0): terminated is '2'",
  ),
  'duplicate step': (
    rows(*GOOD, '1,0,.1,.2,1,1,1,0'),
    {},
    'row 5 (episode 1): the same step is there twice',
  ),
  'gap in steps': (
    rows(*GOOD, '1,5,.1,.2,1,1,1,0'),
    {},
    'row 5 (episode 1): step 5 follows step 0',
  ),
  'steps go down': (
    rows('0,5,.1,.2,1,1,0,0', '0,4,.1,.2,0,1,1,0'),
    {},
    'row 3 (episode 0): step 4 follows step 5',
  ),
  'half a step': (
    rows('0,0.5,.1,.2,1,1,1,0'),
    {},
    'step is not a whole number',
  ),
  'an episode comes back': (
    rows(*GOOD, '0,2,.1,.2,1,1,1,0'),
    {},
    'row 5 (episode 0): the episode was there before',
  ),
  'no episode': (
    rows(*GOOD, ',2,.1,.2,1,1,1,0'),
    {},
    'row 5: episode is empty',
  ),
  'empty in the middle': (
    rows('0,0,.1,.2,,,,', '0,1,.1,.2,1,1,1,0'),
    {},
    'row 2 (episode 0): action and reward are empty',
  ),
  'action without reward': (
    rows('0,0,.1,.2,1,,1,0'),
    {},
    'row 2 (episode 0): reward is empty',
  ),
  'reward without action': (
    rows(*GOOD, '2,0,.1,.2,,1,1,0'),
    {},
    'row 5 (episode 2): action is empty',
  ),
  'only one-step episodes': (
    rows('0,0,.1,.2,1,1,0,0', '1,0,.1,.2,1,1,0,1'),
    {},
    '2 episodes had no transition left',
  ),
  'only final observations': (
    rows('0,0,.1,.2,,,,', '1,0,.1,.2,,,,'),
    {'actions': 2},
    'holds no transition',
  ),
  'goes on after termination': (
    rows('0,0,.1,.2,1,1,1,0', '0,1,.1,.2,1,1,1,0'),
    {},
    'row 2 (episode 0): terminated is set, but the episode goes on',
  ),
  'goes on after truncation': (
    rows('0,0,.1,.2,1,1,0,1', '0,1,.1,.2,1,1,1,0'),
    {},
    'truncated is set, but the episode goes on',
  ),
  'flag beside the final observation': (
    rows('0,0,.1,.2,1,1,0,0', '0,1,.1,.2,,,1,'),
    {},
    'row 3 (episode 0): terminated is set in a row without an action',
  ),
  'too few cells': (
    rows(*GOOD, '1,1,.1,.2,1,1'),
    {},
    'row 5 (episode 1): terminated is',
  ),
  'too many cells': (
    rows(*GOOD, '1,1,.1,.2,1,1,1,0,9'),
    {},
    'Expected 8 fields in line 5, saw 9',
  ),
  'too many cells everywhere': (
    rows('0,0,.1,.2,1,1,1,0,9'),
    {},
    'more cells than the header',
  ),
  'unclosed quote': (rows(*GOOD, '1,1,"0.1,.2,1,1,1,0'), {}, 'at row 5'),
  'NUL bytes': (
    rows(*GOOD, '1,1,.\0001,.2,1,1,1,0'),
    {},
    'row 5: there is a byte that does not belong',
  ),
  'not UTF-8': (
    rows('\u00e9,0,.1,.2,1,1,1,0').decode().encode('latin-1'),
    {},
    'row 2: there is a byte that does not belong to text in UTF-8',
  ),
  'UTF-16': (rows(*GOOD).decode().encode('utf-16'), {}, 'UTF-8'),
  'number beyond float64': (
    rows('0,0,1e400,.2,1,1,1,0'),
    {},
    'row 2 (episode 0): obs_0 is',
  ),
  'number just beyond float64': (
    rows('0,0,1e309,.2,1,1,1,0'),
    {},
    'nan, infinite or beyond 1e+70',
  ),
  'whole number beyond int64': (
    rows(f'0,0,.1,.2,1,{10**400},1,0'),
    {},
    'reward is infinite or beyond 1e+70 in size',
  ),
  'reward nan': (rows('0,0,.1,.2,1,nan,1,0'), {}, 'reward is empty or nan'),
  'reward whose square is beyond float64': (
    rows('0,0,.1,.2,1,-1e200,1,0'),
    {},
    'reward is infinite or beyond 1e+70 in size',
  ),
  'no names of columns': (
    b'0,0,.1,.1,1,1,1,0\n',
    {},
    'The first row of log.csv has numbers alone, but it should name the',
  ),
  'reward inf': (rows('0,0,.1,.2,1,-inf,1,0'), {}, 'reward is infinite'),
  'observation inf': (
    rows(*GOOD, '1,1,.1,inf,1,1,1,0'),
    {},
    'row 5 (episode 1): obs_1 is empty, nan, infinite',
  ),
  'observation empty': (rows('0,0,.1,,1,1,1,0'), {}, 'obs_1 is empty'),
  'continuous actions': (
    rows(*GOOD, '1,1,.1,.2,0.37,1,1,0'),
    {},
    'row 5 (episode 1): action is 0.37, but actions must be whole numbers',
  ),
  'an action that is not said': (
    rows(*GOOD),
    {'actions': '1,2'},
    'action is not one of 1, 2',
  ),
  'probability 0 of a taken action': (
    probable(0, 0.5, 0.5),
    {},
    'row 2 (episode 0): behaviour_probability is not in (0, 1]',
  ),
  'negative probability': (
    probable(-0.1, 0.5, 0.5),
    {},
    'behaviour_probability is not in',
  ),
  'probability above one': (
    probable(1.5, 0.5, 0.5),
    {},
    'behaviour_probability is not in',
  ),
  'probability empty': (
    probable('', 0.5, 0.5),
    {},
    'behaviour_probability is not in',
  ),
  'negative target probability': (
    probable(0.5, -0.5, 1.5),
    {},
    'target probability is empty or not in',
  ),
  'target probabilities that do not sum to one': (
    probable(0.5, 0.5, 0.3),
    {},
    'target probabilities sum to 0.8, not',
  ),
  'too few target probabilities': (
    probable(0.5, 0.5, 0.5),
    {'actions': 3},
    'There must be one for each action',
  ),
  'too few target probabilities by name': (
    probable(0.5, 0.5, 0.5),
    {'target_probabilities': 'target_probability_0'},
    'There must be one for each action',
  ),
}


@pytest.mark.parametrize('name', CSV)
def test_a_wrong_csv_is_refused(name, tmp_path, refused):
  content, mapping, words = CSV[name]
  (tmp_path / 'log.csv').write_bytes(content)
  assert words in refused(tmp_path / 'log.csv', tmp_path / 'out', mapping)


def test_a_directory_is_no_file(tmp_path, refused):
  (tmp_path / 'log.csv').mkdir()
  assert 'in no format' in refused(tmp_path / 'log.csv', tmp_path / 'out', {})
  assert 'is a directory without CSV files' in refused(
    tmp_path / 'log.csv', tmp_path / 'out', {}, 'csv'
  )
  assert 'is a directory, but npz is a file' in refused(
    tmp_path / 'log.csv', tmp_path / 'out', {}, 'npz'
  )


def test_a_format_that_does_not_exist_is_refused(tmp_path, refused):
  (tmp_path / 'log.csv').write_bytes(rows(*GOOD))
  assert "no format 'xls'" in refused(
    tmp_path / 'log.csv', tmp_path / 'out', {}, 'xls'
  )


def test_a_missing_file_is_said(tmp_path, refused):
  assert 'There is no log' in refused(
    tmp_path / 'log.csv', tmp_path / 'out', {}
  )
