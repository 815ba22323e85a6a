"""The target policy that a user names: a model, a function, or a word.

    target = resolve.resolve(
        'my_policies:cautious', num_observations=4, num_actions=2,
        transitions=log, episodes=episodes)
    target.policy.action_probabilities(s)           # [B, A]

Every policy is tried on states of the log before anything else runs. Pickles
are never loaded. A function of the user is imported, which runs its module.
"""

from collections.abc import Callable, Sequence
import hashlib
import importlib
import inspect
import pathlib
import re
import sys
import sysconfig
import traceback
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from dfiv_ope import interrupts, types
from dfiv_ope.policies import cloning, finite, foreign, onnx_models, trained

UNIFORM, CLONE, COLUMNS = 'uniform', 'behaviour-clone', 'columns'
CHOICES = (
    'Name a directory with a SavedModel, a file that ends in .onnx, a Python '
    f'function as package.module:function, {UNIFORM}, {CLONE}, or {COLUMNS} '
    '(target probabilities in the log).')
_SAMPLE = 1_000  # states of the log that a policy is tried on
# A model may round differently in a smaller batch, and break a tie otherwise.
_TIES = 0.01


class Target(NamedTuple):
  """A policy to evaluate.

  Attributes:
    policy: the policy.
    description: one line for people.
    digest: identifies what the policy does, in hexadecimal.
  """
  policy: types.Policy
  description: str
  digest: str


class _Log(NamedTuple):
  """What a policy has to fit."""
  num_observations: int
  num_actions: int
  transitions: types.Transition
  episodes: np.ndarray
  labels: tuple[str, ...]
  categorical: tuple[int, ...]

  @property
  def sample(self) -> np.ndarray:
    """Some of the observations, evenly spread over the log."""
    observations = np.asarray(self.transitions.observation, np.float64)
    return observations[::-(-len(observations) // _SAMPLE)]


def resolve(
    policy: str | Callable[[np.ndarray], Any] | types.Policy,
    *,
    num_observations: int,
    num_actions: int,
    transitions: types.Transition,
    episodes: np.ndarray,
    action_labels: Sequence[str] = (),
    recorded: tuple[np.ndarray, np.ndarray] | None = None,
    trusted: bool = False,
    categorical: Sequence[int] = (),
) -> Target:
  """Finds the policy that a user names, and tries it.

  Args:
    policy: path of a SavedModel or of an ONNX model, package.module:function,
      'uniform', 'behaviour-clone' or 'columns'; or the policy itself: a
      function of observations [B, D], which gives probabilities [B, A] or
      actions [B], or an object with `action_probabilities`.
    num_observations: D.
    num_actions: A.
    transitions: the log, N rows.
    episodes: to which episode each row belongs, [N].
    action_labels: names of the actions, if they have any.
    recorded: observations [M, D] and the target's probabilities there [M, A],
      if the log has columns of these.
    trusted: load a SavedModel whatever operations it holds.
    categorical: columns of the observations whose values are names.

  Raises:
    FileNotFoundError: there is nothing at the path.
    ValueError: it is not a policy, or not one for this log.
  """
  log = _Log(num_observations, num_actions, transitions, episodes,
             tuple(action_labels), tuple(categorical))
  if not isinstance(policy, str):
    target = _object(policy, log)
    _try(target.description, target.policy, log)
    return target._replace(policy=foreign.Normalised(target.policy))
  text, path = policy, pathlib.Path(policy)
  if not text:
    raise ValueError(f'The policy has no name. {CHOICES}')
  if text in (UNIFORM, CLONE):
    target = _uniform(log) if text == UNIFORM else _clone(log)
  elif text == COLUMNS:
    target = _columns(recorded)
  elif path.is_dir():
    target = _saved_model(path, log, trusted)
  elif path.suffix == '.onnx' and path.is_file():
    content, run = onnx_models.load(
        path, num_observations=log.num_observations)
    target = Target(
        _wrap(run, str(path), log), f'the ONNX model {path}', _digest(content))
  elif path.exists():
    raise ValueError(
        f'{path} is neither a SavedModel nor an ONNX model; pickles are not '
        f'loaded, because they may run anything. {CHOICES}')
  elif re.fullmatch(r'\w+(\.\w+)*:\w+', text):
    target = _function(text, log)
  else:
    raise FileNotFoundError(
        f'There is no file or directory {text!r}. {CHOICES}')
  _try(text, target.policy, log)
  return target._replace(policy=foreign.Normalised(target.policy))


def _uniform(log: _Log) -> Target:
  return Target(
      finite.Uniform(num_actions=log.num_actions),
      'every action with the same probability',
      _digest(UNIFORM, log.num_actions))


def _clone(log: _Log) -> Target:
  found = cloning.clone(
      log.transitions, log.episodes, num_actions=log.num_actions, seed=0,
      categorical=log.categorical)
  return Target(
      found.policy,
      'the behaviour policy, as estimated from the log (held-out log loss '
      f'{found.held_out_loss:.3f}, by frequencies {found.constant_loss:.3f})',
      _digest(CLONE, cloning.Config(), log.categorical, *(
          np.ascontiguousarray(each).tobytes() for each in (
              log.transitions.observation, log.transitions.action,
              log.episodes))))


def _columns(recorded: tuple[np.ndarray, np.ndarray] | None) -> Target:
  if recorded is None:
    raise ValueError(
        'The log has no columns with the probabilities of the target policy. '
        'Import it again and map target_probabilities.')
  return Target(
      foreign.Recorded(*recorded), 'the policy whose probabilities are columns '
      'of the log', _digest(*(each.tobytes() for each in recorded)))


def _saved_model(
    path: pathlib.Path, log: _Log, trusted: bool) -> Target:
  made_here = (path / trained.RECORD).is_file()
  load = trained.load if made_here else finite.load
  policy = load(path, num_observations=log.num_observations,
                num_actions=log.num_actions, trusted=trusted)
  files = sorted(each for each in path.rglob('*') if each.is_file())
  return Target(
      policy, f'the SavedModel in {path}',
      _digest(*(part for each in files for part in (
          each.relative_to(path).as_posix(), each.read_bytes()))))


def _function(text: str, log: _Log) -> Target:
  module_name, name = text.split(':')
  here = str(pathlib.Path.cwd())
  if here not in sys.path:  # as for `python -m`
    sys.path.insert(0, here)
  try:
    module = importlib.import_module(module_name)
  except BaseException as error:
    _let_interrupts_pass(error)
    raise ValueError(
        f'{module_name} cannot be imported: {_line(error)}. It is looked for '
        f'in {here} and among installed packages.') from error
  function = getattr(module, name, None)
  if not callable(function):
    raise ValueError(f'{module_name} has no function {name}. {CHOICES}')
  policy = _wrap(function, text, log)
  sources = {file for each in (module, inspect.getmodule(function))
             if (file := getattr(each, '__file__', None))}
  # What it does is part of the digest, because it may read other files.
  probabilities = policy.action_probabilities(tf.constant(log.sample)).numpy()
  return Target(
      policy, f'the Python function {text}',
      _digest(text, np.round(probabilities, 4).tobytes(), *(
          pathlib.Path(each).read_bytes() for each in sorted(sources))))


def _object(
    policy: Callable[[np.ndarray], Any] | types.Policy, log: _Log) -> Target:
  """Returns the policy that an object of the caller is."""
  name = getattr(policy, '__name__', type(policy).__name__)
  if name == '<lambda>':
    name = 'the given function'
  ask: Any = getattr(policy, 'action_probabilities', policy)
  made: types.Policy
  if isinstance(policy, tf.Module) and isinstance(policy, types.Policy):
    made = policy
  elif callable(ask):
    made = _wrap(ask, name, log)
  else:
    raise ValueError(
        f'A policy is a function of observations, an object with '
        f'action_probabilities, or a name, got {type(policy).__name__}. '
        f'{CHOICES}')
  probabilities = np.asarray(
      made.action_probabilities(tf.constant(log.sample)))
  return Target(made, name, _digest(
      name, np.round(probabilities, 4).tobytes()))


def _wrap(
    function: Callable[[np.ndarray], Any], name: str, log: _Log,
) -> foreign.Function:
  """Returns the policy of a function that is not ours."""

  def ask(observation: np.ndarray) -> np.ndarray:
    try:
      # A copy, because the function may write into what it gets.
      answer = function(np.array(observation, np.float64))
    except BaseException as error:
      _let_interrupts_pass(error)
      raise ValueError(f'{name} failed: {_line(error)}.') from error
    return _probabilities(answer, len(observation), name, log)

  return foreign.Function(ask, num_actions=log.num_actions)


def _try(text: str, policy: types.Policy, log: _Log) -> None:
  """Refuses a policy that does not give fixed probabilities."""

  def ask(observations: np.ndarray) -> np.ndarray:
    try:
      answer = policy.action_probabilities(tf.constant(observations))
    except tf.errors.OpError as error:
      raise ValueError(f'{text} failed: {_line(error)}.') from error
    return _probabilities(answer.numpy(), len(observations), text, log)

  sample = log.sample
  first = ask(sample)
  if np.abs(ask(sample) - first).max() > foreign.SUM_SLACK:
    raise ValueError(
        f'{text} answers the same observations differently when it is asked '
        'again. Return the probabilities of the actions instead of drawing '
        'one of them.')
  change = np.abs(ask(sample[::2]) - first[::2]).max(axis=1)
  if np.mean(change > foreign.SUM_SLACK) > _TIES:
    raise ValueError(
        f'{text} answers an observation differently when others are left out. '
        'Its answer must depend on the observation alone: does it normalise '
        'by the batch?')


def _probabilities(
    answer: Any, rows: int, name: str, log: _Log) -> np.ndarray:
  try:
    return foreign.as_probabilities(
        answer, rows, log.num_actions, log.labels)
  except ValueError as error:
    raise ValueError(f'{name} {error}') from error


def _let_interrupts_pass(error: BaseException) -> None:
  """Raises Ctrl-C again; foreign code may raise all else."""
  if interrupts.is_from_the_keyboard(error):
    raise error


def _line(error: BaseException) -> str:
  """Returns an error of foreign code on one line, with where it was raised."""
  try:
    words = ' '.join(str(error).split())
  except Exception:  # its text is foreign code, too
    words = ''
  own = (sysconfig.get_paths()['stdlib'], '<frozen', __file__,
         foreign.__file__)
  frames = [each for each in traceback.extract_tb(error.__traceback__)
            if not each.filename.startswith(own)
            and 'site-packages' not in each.filename]
  place = (f' ({pathlib.Path(frames[-1].filename).name}, line '
           f'{frames[-1].lineno})' if frames else '')
  return f'{type(error).__name__}{": " if words else ""}{words}{place}'


def _digest(*parts: object) -> str:
  """Returns the SHA-256 of parts and their lengths."""
  result = hashlib.sha256()
  for part in parts:
    content = part if isinstance(part, bytes) else str(part).encode()
    result.update(f'{len(content)} '.encode() + content)
  return result.hexdigest()
