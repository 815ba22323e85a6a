"""Which algorithm trains the target policies of a task, and how."""

from collections.abc import Iterable
import dataclasses
import json
from typing import Any

from dfiv_ope import atomic_output, overrides
from dfiv_ope.agents.entries import dqn, rounds, td3


@dataclasses.dataclass(frozen=True, kw_only=True)
class Training:
  """How a target policy is made.

  Attributes:
    task: name of the environment.
    action_noise: of the environment.
    seed: same seed, same policy.
    config: hyper-parameters of DQN or TD3.
  """

  task: str
  action_noise: float
  seed: int
  config: rounds.Config

  @property
  def request(self) -> dict[str, Any]:
    """What the record of the policy says of it, as JSON data."""
    plain: dict[str, Any] = json.loads(
      json.dumps(
        {
          'task': self.task,
          'action_noise': self.action_noise,
          'seed': self.seed,
          self.config.algorithm: dataclasses.asdict(self.config),
        }
      )
    )
    return plain

  @property
  def name(self) -> str:
    """Of its directory."""
    return atomic_output.name(
      f'{self.task}-noise-{self.action_noise:g}-seed-{self.seed}', self.request
    )


def training(
  task: str,
  action_noise: float,
  *,
  seed: int,
  continuous: bool,
  settings: Iterable[str] = (),
) -> Training:
  """Returns how a target policy of a task is made.

  Args:
    task: its name; one that is not known here has the default config.
    action_noise: of the environment.
    seed: of the training.
    continuous: whether its actions are vectors.
    settings: changes of the config, each name=value.

  Raises:
    ValueError: a change is not valid.
  """
  default = config(task, continuous=continuous)
  return Training(
    task=task,
    action_noise=action_noise,
    seed=seed,
    config=overrides.apply(default, settings),
  )


def config(task: str, *, continuous: bool) -> rounds.Config:
  """Returns the hyper-parameters of a task's target policies.

  Args:
    task: its name; one that is not known here has the defaults.
    continuous: whether its actions are vectors.

  Returns:
    A config of TD3 if actions are vectors, else of DQN.
  """
  if continuous:
    return td3.TUNED.get(task, td3.Config())
  return dqn.TUNED.get(task, dqn.Config())
