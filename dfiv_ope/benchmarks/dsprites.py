"""The dSprites design: a picture as treatment (Xu et al., 2021, section 4.2).

The treatment X is a noisy picture of 64 x 64 pixels. Its scale, orientation
and horizontal position are the instrument; its vertical position moves the
outcome on its own and is hidden:

    Y = f(X) + (posY class - 16) + noise

A regression of Y on X sees the vertical position in the picture and takes its
effect for one of X: that is the confounding.

    design = dsprites.DSprites(n=5000)
    data = design.sample(seed=0)
    design.metrics(estimator.predict)

Deviations from the paper's text, all as in the code released with it: f has
the mean of the ten squared projections, not their sum; the confounder is the
class of posY less 16 and not 32 (posY - 0.5); the noises of pixels and outcome
have standard deviations, not variances, of 0.1 and 0.5; the scales of the
grid are the classes 0, 3 and 5, not evenly spaced. The confounder's mean is
thus -0.5, not 0, which no instrument can tell from a constant in f: a perfect
estimator has an error of about 0.24, not 0.
"""

import dataclasses
import functools

import numpy as np

from dfiv_ope import types
from dfiv_ope.benchmarks import dsprites_outcomes, sprite_outlines, sprites
from dfiv_ope.results import problems

PIXEL_NOISE = 0.1
OUTCOME_NOISE = 0.5


@dataclasses.dataclass(frozen=True, kw_only=True)
class DSprites:
  """The design with its sample size and outcome.

  Attributes:
    n: number of rows of a sample.
    outcome: 'area', the paper's f on hearts, or 'orientation', a harder one
      on ellipses, which no function of the lit area can follow.
    archive: path of the dSprites npz file; the pictures are drawn if None.
  """

  n: int = 5000
  outcome: str = 'area'
  archive: str | None = None

  def __post_init__(self) -> None:
    if self.n < 1:
      raise ValueError(f'n must be at least 1, got {self.n}.')
    if self.outcome not in dsprites_outcomes.OUTCOMES:
      raise ValueError(
        f'outcome must be one of {sorted(dsprites_outcomes.OUTCOMES)}, got '
        f'{self.outcome!r}.'
      )
    self._pictures()

  @property
  def problem(self) -> problems.IVDesign:
    """The design as a result row names it."""
    return problems.IVDesign(
      name='dsprites',
      parameters={
        'n': self.n,
        'outcome': self.outcome,
        **({} if self.archive is None else {'images': 'archive'}),
      },
    )

  def structural(self, images: np.ndarray) -> types.FloatArray:
    """Returns f of pictures [m, 64, 64]: [m, 1]."""
    return self._outcome.structural(images)

  def sample(self, seed: types.Seed) -> types.IVBatch:
    """Draws n rows; both stages together, the estimator splits them in halves.

    Args:
      seed: seeds the draw; A is the same for all seeds.

    Returns:
      Treatment: noisy pictures, float32 [n, 64, 64]. Instrument: values of
      scale, orientation and posX, [n, 3]. Outcome: [n, 1], from f of the
      noisy picture.
    """
    generator = np.random.default_rng(seed)
    scale, turn, pos_x, pos_y = (
      generator.integers(size, size=self.n) for size in sprites.SIZES[1:]
    )
    treatment = generator.standard_normal(
      (self.n, sprites.WIDTH, sprites.WIDTH), dtype=np.float32
    )
    treatment *= PIXEL_NOISE
    treatment += self._pictures().images(
      self._outcome.shape, scale, turn, pos_x, pos_y
    )
    noise = OUTCOME_NOISE * generator.standard_normal((self.n, 1))
    instrument = np.stack(
      [
        sprite_outlines.SCALES[scale],
        sprite_outlines.ORIENTATIONS[turn],
        sprite_outlines.POSITIONS[pos_x],
      ],
      axis=1,
    )
    outcome = self.structural(treatment) + (pos_y[:, None] - 16.0) + noise
    return types.IVBatch(
      treatment=treatment, instrument=instrument, outcome=outcome
    )

  def grid(self) -> tuple[np.ndarray, types.FloatArray]:
    """Returns the test points: clean float32 [588, 64, 64], truth [588, 1]."""
    positions = range(0, 31, 5)
    latents = np.meshgrid(
      (0, 3, 5), self._outcome.orientations, positions, positions, indexing='ij'
    )
    images = self._pictures().images(
      self._outcome.shape, *(each.ravel() for each in latents)
    )
    return images.astype(np.float32), self.structural(images)

  def metrics(self, predict: dsprites_outcomes.Structural) -> dict[str, float]:
    """Returns the error of a structural function on the grid, raw scale.

    Args:
      predict: from images [m, 64, 64] to [m] or [m, 1].

    Raises:
      ValueError: it does not return one number a picture.
    """
    images, truth = self.grid()
    values = np.asarray(predict(images))
    if values.shape not in (truth.shape, truth.shape[:1]):
      raise ValueError(
        f'predict returned shape {values.shape} for {len(truth)} pictures; '
        f'return {truth.shape} or {truth.shape[:1]}.'
      )
    error = values.reshape(truth.shape) - truth
    return {'mse': float(np.mean(np.square(error)))}

  def curves(
    self, predict: dsprites_outcomes.Structural
  ) -> dict[str, list[float]]:
    """Returns no curves: a picture has no axis to draw f along."""
    del predict
    return {}

  @property
  def _outcome(self) -> dsprites_outcomes.Outcome:
    """The structural function and its pictures."""
    return dsprites_outcomes.OUTCOMES[self.outcome]

  def _pictures(self) -> sprites.Pictures:
    """Returns where the pictures come from."""
    return sprites.Rendered() if self.archive is None else _open(self.archive)


def lit_pixels_baseline(data: types.IVBatch) -> dsprites_outcomes.Structural:
  """Fits the trivial answer: 2SLS of a quadratic in the number of lit pixels.

  Args:
    data: a sample; the instrument's columns are scale, orientation, posX.

  Returns:
    The fitted function, from images [m, 64, 64] to [m, 1].
  """
  counts = dsprites_outcomes.lit_pixels(data.treatment)
  centre, spread = counts.mean(), counts.std() or 1.0

  def regressors(images: np.ndarray) -> types.FloatArray:
    scaled = (dsprites_outcomes.lit_pixels(images) - centre) / spread
    return np.stack([np.ones_like(scaled), scaled, scaled**2], axis=1)

  scale, turn, pos_x = np.asarray(data.instrument).T
  instruments = np.stack(
    [
      np.ones_like(scale),
      scale,
      pos_x,
      scale**2,
      scale * pos_x,
      pos_x**2,
      np.sin(turn),
      np.cos(turn),
    ],
    axis=1,
  )
  treatment = regressors(data.treatment)
  stage1 = np.linalg.lstsq(instruments, treatment, rcond=None)[0]
  weights = np.linalg.lstsq(
    instruments @ stage1, np.asarray(data.outcome), rcond=None
  )[0]
  return lambda images: regressors(images) @ weights


@functools.lru_cache(maxsize=1)
def _open(path: str) -> sprites.Archive:
  """Returns the archive, kept in memory for the next sample."""
  return sprites.Archive(path)
