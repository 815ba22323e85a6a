"""The three bsuite tasks of the paper, seeded and with action noise.

    environment = envs.make('catch', action_noise=0.2, seed=3)
"""

from dfiv_ope.envs.tasks import TASKS, make, maker
from dfiv_ope.envs.wrappers import DoublePrecision, RandomAction

__all__ = ['TASKS', 'RandomAction', 'DoublePrecision', 'make', 'maker']
