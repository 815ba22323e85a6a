"""Which policy a user names, told without TensorFlow.

    identity.identify('offers:generous', ...).digest

The digest is part of the key of result rows, so a plan knows which rows are
there before anything is loaded. `resolve` makes the policy itself.
"""

from collections.abc import Callable, Sequence
import hashlib
import inspect
import pathlib
import sys
from typing import Any, NamedTuple

import numpy as np

from dfiv_ope import actions, types
from dfiv_ope.policies import answers, clone_config, naming, vector_answers

_SAMPLE = 1_000  # states of the log that a policy is tried on


class Identity(NamedTuple):
  """What is known of a policy before it is made.

  Attributes:
    digest: identifies what the policy does, in hexadecimal.
    description: one line for people; None where the policy must be made first.
  """

  digest: str
  description: str | None


def identify(
  policy: str,
  *,
  num_actions: int,
  transitions: types.Transition,
  episodes: np.ndarray,
  action_labels: Sequence[str] = (),
  recorded: tuple[np.ndarray, np.ndarray] | None = None,
  categorical: Sequence[int] = (),
  continuous: actions.Continuous | None = None,
) -> Identity:
  """Returns what identifies the policy that a user names.

  Args:
    policy: as for `naming.check`.
    num_actions: A; 0 if actions are vectors.
    transitions: the log, N rows; arrays.
    episodes: to which episode each row belongs, [N].
    action_labels: names of the actions, if they have any.
    recorded: observations [M, D] and the target's probabilities there [M, A],
      if the log has columns of these.
    categorical: columns of the observations whose values are names.
    continuous: what an action is, if actions are vectors.

  Raises:
    FileNotFoundError: there is nothing of this name.
    ValueError: it is not a policy, or a function that does not fit the log.
  """
  naming.check(policy)
  path = pathlib.Path(policy)
  found = naming.kind(policy)
  # Digests of policies over finitely many actions do not know of vectors.
  space = () if continuous is None else (continuous,)
  if found == naming.UNIFORM and continuous is not None:
    continuous.refuse_unbounded()
    return Identity(
      digest(naming.UNIFORM, *space),
      'every action within the bounds with the same density',
    )
  if found == naming.UNIFORM:
    return Identity(
      digest(naming.UNIFORM, num_actions),
      'every action with the same probability',
    )
  if found == naming.CLONE:
    arrays = (transitions.observation, transitions.action, episodes)
    return Identity(
      digest(
        naming.CLONE,
        clone_config.for_log(len(episodes), num_actions),
        *(
          ['table']
          if 0 < len(tuple(categorical)) == (transitions.observation.shape[1])
          and continuous is None
          else []
        ),
        tuple(categorical),
        *space,
        *(np.ascontiguousarray(each).tobytes() for each in arrays),
      ),
      None,
    )
  if found == naming.COLUMNS and continuous is not None:
    raise ValueError(
      f'{naming.COLUMNS} are probabilities of actions, but an action of the '
      f'log is a vector of {continuous.size} entries. Name another policy.'
    )
  if found == naming.COLUMNS:
    if recorded is None:
      raise ValueError(
        'The log has no columns with the probabilities of the target policy. '
        'Import it again and map target_probabilities.'
      )
    return Identity(
      digest(*(each.tobytes() for each in recorded)),
      'the policy whose probabilities are columns of the log',
    )
  if found == naming.SAVED_MODEL:
    files = sorted(each for each in path.rglob('*') if each.is_file())
    return Identity(
      digest(
        *(
          part
          for each in files
          for part in (each.relative_to(path).as_posix(), each.read_bytes())
        )
      ),
      f'the SavedModel in {path}',
    )
  if found == naming.ONNX:
    return Identity(digest(path.read_bytes()), f'the ONNX model {path}')
  function = naming.import_function(policy, vectors=continuous is not None)
  if continuous is None:
    answer = rounded(
      asking(function, policy, num_actions, action_labels)(sample(transitions))
    )
  else:
    answer = rounded(
      in_units(
        vector_answers.answered(
          function, policy, sample(transitions), continuous
        )
      )
    )
  modules = (sys.modules[policy.split(':')[0]], inspect.getmodule(function))
  sources = {
    file for each in modules if (file := getattr(each, '__file__', None))
  }
  # What it does is part of the digest, because it may read other files.
  return Identity(
    digest(
      policy,
      answer,
      *(pathlib.Path(each).read_bytes() for each in sorted(sources)),
    ),
    f'the Python function {policy}',
  )


def asking(
  function: Callable[[np.ndarray], Any],
  name: str,
  num_actions: int,
  action_labels: Sequence[str],
) -> Callable[[np.ndarray], np.ndarray]:
  """Returns what asks foreign code for probabilities, float32 [B, A].

  Args:
    function: maps observations, float64 [B, D], to `answers`.
    name: for messages.
    num_actions: A.
    action_labels: names of the actions, if they have any.
  """

  def ask(observation: np.ndarray) -> np.ndarray:
    return probabilities(
      answers.call(function, name, np.asarray(observation)),
      len(observation),
      name,
      num_actions,
      action_labels,
    )

  return ask


def probabilities(
  answer: Any,
  rows: int,
  name: str,
  num_actions: int,
  action_labels: Sequence[str],
) -> np.ndarray:
  """Returns an answer as float32 [B, A], see `answers.as_probabilities`.

  Raises:
    ValueError: it is none; the message begins with the policy's name.
  """
  try:
    return answers.as_probabilities(answer, rows, num_actions, action_labels)
  except ValueError as error:
    raise ValueError(f'{name} {error}') from error


def sample(transitions: types.Transition) -> np.ndarray:
  """Returns some observations, evenly spread over a log, float64 [B, D]."""
  observations = np.asarray(transitions.observation, np.float64)
  return observations[:: spread(len(observations)).step]


def spread(count: int) -> range:
  """Returns the numbers of the rows of a log that `sample` takes."""
  return range(0, count, -(-count // _SAMPLE))


def in_units(answer: types.FloatArray) -> types.FloatArray:
  """Returns columns of numbers in units of their own power of ten."""
  largest = np.abs(answer).max(axis=0)
  return answer / 10.0 ** np.floor(np.log10(np.where(largest, largest, 1.0)))


def rounded(answer: np.ndarray) -> bytes:
  """Returns probabilities, or numbers `in_units`, as part of a digest."""
  return np.round(answer, 4).tobytes()


def digest(*parts: object) -> str:
  """Returns the SHA-256 of parts and their lengths."""
  result = hashlib.sha256()
  for part in parts:
    content = part if isinstance(part, bytes) else str(part).encode()
    result.update(f'{len(content)} '.encode() + content)
  return result.hexdigest()
