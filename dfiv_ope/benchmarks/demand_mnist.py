"""The demand design whose customer group is seen as a handwritten digit.

Price, time, fuel cost and sales are those of `demand`; the group S in 1..7 is
shown as a random MNIST picture of the digit S, of the training pictures in a
sample and of the test pictures on the grid.

    design = demand_mnist.DemandMNIST(n=5000, rho=0.5, mnist='data/mnist')
    data = design.sample(seed=0)
    time, images = data.covariate
    design.metrics(estimator.predict)
"""

from collections.abc import Callable
import dataclasses

import numpy as np

from dfiv_ope import types
from dfiv_ope.benchmarks import demand, mnist
from dfiv_ope.results import problems

# The covariate: time of the year float64 [B, 1], images float32 [B, 28, 28].
Covariate = tuple[types.FloatArray, types.FloatArray]
# A structural function: (treatment [B, 1], covariate) -> [B] or [B, 1].
Structural = Callable[[types.FloatArray, Covariate], types.FloatArray]

# All runs are measured with the same pictures.
_GRID_SEED = 2800
# The pictures of a sample have their own stream beside that of its rows.
_IMAGE_STREAM = (1,)


@dataclasses.dataclass(frozen=True, kw_only=True)
class DemandMNIST:
  """The design.

  Attributes:
    n: rows of both stages together; the estimator splits them.
    rho: correlation of the noises of price and sales, in [0, 1].
    mnist: directory of the MNIST files, or None to download them.
  """

  n: int = 5000
  rho: float = 0.5
  mnist: str | None = None

  def __post_init__(self) -> None:
    demand.check(self.n, self.rho)

  @property
  def problem(self) -> problems.IVDesign:
    """The design as a result row names it."""
    return problems.IVDesign(
      name='demand_mnist', parameters={'n': self.n, 'rho': self.rho}
    )

  def sample(self, seed: types.Seed) -> types.IVBatch:
    """Draws n rows: those of `demand.sample` with pictures of the group.

    Args:
      seed: seeds the draw.

    Returns:
      Treatment P [n, 1], instrument C [n, 1], outcome Y [n, 1] as float64,
      and the covariate: T float64 [n, 1], images float32 [n, 28, 28].
    """
    data = demand.sample(self.n, rho=self.rho, seed=seed)
    generator = np.random.default_rng(
      np.random.SeedSequence(seed, spawn_key=_IMAGE_STREAM)
    )
    pool = mnist.load(self.mnist).train
    covariate = _with_images(np.asarray(data.covariate), generator, pool)
    return data._replace(covariate=covariate)

  def grid(self) -> tuple[types.FloatArray, Covariate, types.FloatArray]:
    """Returns the 2800 test points: prices, covariates, true sales [2800, 1].

    Each point has a picture of its own, the same in every run.
    """
    treatment, covariate = demand.grid()
    shown = _with_images(
      covariate, np.random.default_rng(_GRID_SEED), mnist.load(self.mnist).test
    )
    return treatment, shown, demand.structural(treatment, covariate)

  def metrics(self, predict: Structural) -> dict[str, float]:
    """Returns 'mse', the error of a function on the grid, raw scale."""
    treatment, covariate, truth = self.grid()
    error = np.reshape(predict(treatment, covariate), truth.shape) - truth
    return {'mse': float(np.mean(np.square(error)))}

  def curves(self, predict: Structural) -> dict[str, list[float]]:
    """Returns no curves: averages over groups would need thousands of images.

    Args:
      predict: not called.
    """
    del predict
    return {}


def _with_images(
  covariate: types.FloatArray, generator: np.random.Generator, pool: mnist.Pool
) -> Covariate:
  """Returns covariates (T, S) [B, 2] with pictures in the place of S."""
  groups = covariate[:, 1].astype(np.int64)
  images = mnist.random_images(generator, groups, pool)
  return covariate[:, :1], mnist.pixels(images)
