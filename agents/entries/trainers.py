"""Which algorithm trains the target policies of a task, and how."""

from dfiv_ope.agents.entries import dqn, rounds, td3


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
