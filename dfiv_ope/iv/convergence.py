"""Has a training converged? Its held-out losses tell.

A method that is trained records its losses at equally spaced checks, and says
in `TRAINED` which of them a longer training should lower:

    convergence.warnings(history, module.TRAINED, config)
"""

from collections.abc import Mapping, Sequence
import math
import statistics
from typing import Any

# By what share of itself a loss may still fall over the last quarter of the
# checks; docs/diagnostics.md says how it was chosen.
LEAST_FALL = 1e-3
# Fewer checks have no last quarter to speak of.
_LEAST_CHECKS = 4


class NotConvergedWarning(UserWarning):
  """The training of a method stopped while its held-out loss still fell."""


def late_fall(losses: Sequence[float]) -> float:
  """Returns how far a loss fell over the last quarter of its checks.

  Args:
    losses: held-out losses at equally spaced checks, not negative.

  Returns:
    By what share the least loss of the last quarter is below the least loss
    before it; negative if it is above, nan with fewer than four checks or with
    losses that are not finite or not positive.
  """
  late = len(losses) // 4
  if len(losses) < _LEAST_CHECKS or not all(
    math.isfinite(loss) and loss > 0.0 for loss in losses
  ):
    return math.nan
  return 1.0 - min(losses[-late:]) / min(losses[:-late])


def roughness(losses: Sequence[float]) -> float:
  """Returns how unsteady a loss was over the second half of its checks.

  Args:
    losses: as in `late_fall`, at least four.

  Returns:
    Median size of the second differences, as a share of the least loss. A
    steady fall has none; independent noise has 1.65 standard deviations.
  """
  late = losses[len(losses) // 2 - 1 :]
  turns = [
    abs(late[i] - 2.0 * late[i + 1] + late[i + 2]) for i in range(len(late) - 2)
  ]
  return statistics.median(turns) / min(losses)


def still_falls(losses: Sequence[float]) -> bool:
  """Says if a loss fell at the end, by more than a little and than noise."""
  fall = late_fall(losses)
  return fall > LEAST_FALL and fall > roughness(losses)


def warnings(
  history: Mapping[str, Sequence[float]],
  trained: Mapping[str, str],
  config: Any,
) -> list[UserWarning]:
  """Returns what says that a training was too short, in plain words.

  Args:
    history: losses by name, at each check.
    trained: for a loss that training should lower, the name of the
      hyper-parameter that makes it longer.
    config: has these hyper-parameters.
  """
  found: list[UserWarning] = []
  for name, parameter in trained.items():
    losses = history.get(name, ())
    if still_falls(losses):
      fall, steps = late_fall(losses), getattr(config, parameter)
      found.append(
        NotConvergedWarning(
          f'The training has not converged: {name} still fell by '
          f'{100.0 * fall:.2g} % over the last quarter of its checks ({steps} '
          f'{parameter}), so the estimate may be far from what a longer '
          f'training gives. Try {parameter}={4 * steps}.'
        )
      )
  return found
