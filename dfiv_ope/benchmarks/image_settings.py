"""Configs for the designs with pictures: ours, and the tables of the paper.

Ours were chosen by held-out losses. Where several had the same, the one whose
stage 1 explains most: what the instruments do not explain of a treatment's
features, the outcome cannot correct. With pictures that is most of them, so
psi is normalised by batch and lambda2 is large: the features then grow along
what stage 1 predicts. The final solve chooses its own lambda2. Digits as
treatments have spectral features, which no outcome moves.
"""

from collections.abc import Callable, Mapping
import dataclasses
from typing import Any

from dfiv_ope.iv.methods.entries import deepgmm, deepiv, dfiv, kiv, two_sls
from dfiv_ope.nn.layers import (
  BatchNorm,
  Branch,
  Conv,
  Dense,
  Dropout,
  Image,
  Layer,
  MaxPool,
  MeanPool,
  Shift,
)

_SPRITE_PIXELS = 64 * 64
_DIGIT_PIXELS = 28 * 28
# Averages over the last few batches: networks change fast here.
_DECAY = 0.9
_PENALTIES = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0)


def _norm(activation: str | None = None) -> BatchNorm:
  return BatchNorm(activation, _DECAY)


def _spectral(size: int, activation: str | None = 'relu') -> Dense:
  return Dense(size, activation, spectral=True)


# dSprites.

_SMOOTH = (Dense(64, 'silu'), Dense(64, 'silu'), Dense(32, None), _norm())
_SPRITE_FEATURES = (Dense(256), Dense(64), Dense(16, None), _norm('tanh'))
# Coarser pictures have less noise and fewer weights. The last layer is linear:
# tanh flattens the largest shapes, where f rises fastest.
_COARSE_FEATURES = (
  Image(64, 64),
  MeanPool(4),
  Dense(256, 'silu'),
  Dense(64, 'silu'),
  Dense(16, None),
  _norm(),
)
# The tables of the paper.
_PAPER_INSTRUMENT = (
  _spectral(256),
  _spectral(128),
  _norm(),
  _spectral(128),
  _norm(),
  _spectral(32, None),
  _norm('relu'),
)
_PAPER_TREATMENT = (
  _spectral(1024),
  _spectral(512),
  _norm(),
  _spectral(128),
  _spectral(32, None),
  _norm('tanh'),
)


def _dsprites_dfiv(parameters: Mapping[str, Any]) -> dfiv.Config:
  del parameters
  return dataclasses.replace(
    dfiv.DEMAND,
    treatment_net=_COARSE_FEATURES,
    instrument_net=_SMOOTH,
    stage1_penalty=0.1,
    stage2_penalty=10.0,
    instrument_steps=5,
    treatment_learning_rate=2e-3,
    iterations=60,
    checks=4,
    batch_size=1250,
    members=6,
    candidate_penalties=_PENALTIES,
  )


def _dsprites_dfiv_paper(parameters: Mapping[str, Any]) -> dfiv.Config:
  del parameters
  return dataclasses.replace(
    dfiv.PAPER,
    treatment_net=_PAPER_TREATMENT,
    instrument_net=_PAPER_INSTRUMENT,
    stage1_penalty=0.01,
    stage2_penalty=0.01,
  )


def _dsprites_kiv(parameters: Mapping[str, Any]) -> kiv.Config:
  del parameters
  return dataclasses.replace(
    kiv.PICTURES, random_features=600, treatment_pixels=_SPRITE_PIXELS
  )


def _dsprites_kiv_paper(parameters: Mapping[str, Any]) -> kiv.Config:
  del parameters
  return dataclasses.replace(kiv.PAPER, treatment_pixels=_SPRITE_PIXELS)


def _dsprites_deepgmm(parameters: Mapping[str, Any]) -> deepgmm.Config:
  del parameters
  return deepgmm.Config(
    treatment_net=(*_SPRITE_FEATURES, Dense(1, None)),
    instrument_net=(*_SMOOTH, Dense(1, None)),
    batch_size=500,
    steps=500,
    checks=20,
  )


def _dsprites_deepgmm_paper(parameters: Mapping[str, Any]) -> deepgmm.Config:
  # 100 epochs of one half.
  steps = 100 * parameters['n'] // 2 // deepgmm.PAPER.batch_size
  return dataclasses.replace(
    deepgmm.PAPER,
    treatment_net=(*_PAPER_TREATMENT, Dense(1, None)),
    instrument_net=(*_PAPER_INSTRUMENT, Dense(1, None)),
    steps=max(steps, 20),
    checks=20,
  )


def _dsprites_deepiv(parameters: Mapping[str, Any]) -> deepiv.Config:
  del parameters
  # A picture is no mixture of Gaussians of independent pixels; nothing to
  # tune here changes that.
  return deepiv.Config(
    treatment_net=(Dense(256), Dense(64), Dense(1, None)),
    components=3,
    density_steps=500,
    response_steps=500,
    checks=10,
    held_out_samples=2,
    members=1,
  )


def _dsprites_two_sls(parameters: Mapping[str, Any]) -> two_sls.Config:
  del parameters
  # Three instruments cannot tell 4096 slopes: the least ones are taken.
  return two_sls.Config(stage1_penalty=1e-6, stage2_penalty=1e-3)


# Digits.

_DIGIT: tuple[Layer, ...] = (
  Image(28, 28),
  Conv(16, 5),
  MaxPool(2),
  Conv(32, 5),
  MaxPool(2),
  Dense(64),
)
# For spectral features: shifts and dropout, so that treatment and instrument do
# not predict one another by pairs of pictures that are learned by heart.
_MOVED_DIGIT: tuple[Layer, ...] = (
  Image(28, 28),
  Shift(2),
  MeanPool(2),
  Conv(16, 3),
  MaxPool(2),
  Dropout(0.3),
  Dense(64),
  Dropout(0.3),
)
# `_DIGIT` for fewer pictures: thousands are learned by heart.
_SPARSE_DIGIT: tuple[Layer, ...] = (
  *_DIGIT[:-1],
  Dropout(0.2),
  Dense(64),
  Dropout(0.2),
  Dense(16),
)
# Deviation: the table ends in FC(64, 32), but the layer after it has 64
# inputs of a picture.
_PAPER_DIGIT: tuple[Layer, ...] = (
  Image(28, 28),
  Conv(64, 3, spectral=True),
  Conv(64, 3, spectral=True),
  MaxPool(2),
  Dropout(0.1),
  Dense(64),
  Dropout(0.1),
)


def _beside(picture: tuple[Layer, ...]) -> Branch:
  """Returns numbers as they are, beside the features of a picture."""
  return Branch(_DIGIT_PIXELS, picture)


def _demand_dfiv(parameters: Mapping[str, Any]) -> dfiv.Config:
  del parameters
  body = (
    _beside(_SPARSE_DIGIT),
    Dense(64, 'silu'),
    Dense(64, 'silu'),
    Dense(32, None),
  )
  return dataclasses.replace(
    dfiv.DEMAND, instrument_net=body, covariate_net=body, iterations=100
  )


def _demand_dfiv_paper(parameters: Mapping[str, Any]) -> dfiv.Config:
  del parameters
  body = (_beside(_PAPER_DIGIT), Dense(32, None), _norm('relu'))
  return dataclasses.replace(
    dfiv.PAPER, instrument_net=body, covariate_net=body, batch_size=500
  )


def _demand_kiv(parameters: Mapping[str, Any]) -> kiv.Config:
  del parameters
  return dataclasses.replace(
    kiv.PICTURES,
    random_features=1000,
    treatment_pixels=_DIGIT_PIXELS,
    instrument_pixels=_DIGIT_PIXELS,
  )


def _demand_kiv_paper(parameters: Mapping[str, Any]) -> kiv.Config:
  del parameters
  return dataclasses.replace(
    kiv.PAPER, treatment_pixels=_DIGIT_PIXELS, instrument_pixels=_DIGIT_PIXELS
  )


def _demand_deepiv(parameters: Mapping[str, Any]) -> deepiv.Config:
  del parameters
  body = (_beside(_SPARSE_DIGIT), Dense(64, 'tanh'), Dense(32, 'tanh'))
  return deepiv.Config(
    instrument_net=body, treatment_net=(*body, Dense(1, None)), members=1
  )


def _demand_deepiv_paper(parameters: Mapping[str, Any]) -> deepiv.Config:
  rate = Dropout(deepiv.dropout_rate(parameters['n']))
  body = (_beside(_PAPER_DIGIT), Dense(32), rate)
  return dataclasses.replace(
    deepiv.Config.paper(parameters['n']),
    instrument_net=body,
    treatment_net=(*body, Dense(1, None)),
  )


def _demand_deepgmm(parameters: Mapping[str, Any]) -> deepgmm.Config:
  del parameters
  body = (_beside(_SPARSE_DIGIT), Dense(64), Dense(32), Dense(1, None))
  return deepgmm.Config(
    treatment_net=body, instrument_net=body, steps=1000, checks=20
  )


def _demand_deepgmm_paper(parameters: Mapping[str, Any]) -> deepgmm.Config:
  del parameters
  body = (_beside(_PAPER_DIGIT), Dense(32), Dense(1, None))
  return dataclasses.replace(
    deepgmm.PAPER, treatment_net=body, instrument_net=body
  )


def _mnist_nets(
  parameters: Mapping[str, Any],
  picture: tuple[Layer, ...],
  treatment: Callable[..., tuple[Layer, ...]],
  instrument: Callable[..., tuple[Layer, ...]],
) -> dict[str, Any]:
  """Returns networks that see what a scenario shows as pictures."""
  bodies = ((Dense(64, 'silu'),), picture)
  return {
    'treatment_net': treatment(*bodies['x' in parameters['scenario']]),
    'instrument_net': instrument(
      *bodies['z' in parameters['scenario']], Dense(64, 'silu')
    ),
  }


def _mnist_dfiv(parameters: Mapping[str, Any]) -> dfiv.Config:
  common = dataclasses.replace(
    dfiv.DEMAND, batch_size=1000, candidate_penalties=_PENALTIES, slack=1.0
  )
  # A number has few features to choose from. Of a picture's many, outcomes tell
  # little, and the instrument more.
  if 'x' not in parameters['scenario']:
    return dataclasses.replace(
      common,
      **_mnist_nets(
        parameters,
        _DIGIT,
        lambda *body: (*body, Dense(16, None), _norm('tanh')),
        lambda *body: (*body, Dense(32, None), _norm()),
      ),
      stage1_penalty=0.01,
      stage2_penalty=0.1,
      treatment_learning_rate=1e-3,
      learning_rate=1e-3,
      iterations=30,
      checks=4,
    )
  return dataclasses.replace(
    common,
    **_mnist_nets(
      parameters,
      _MOVED_DIGIT,
      lambda *body: (*body, Dense(8, None), _norm('tanh')),
      lambda *body: (*body, Dense(16, None), _norm()),
    ),
    stage1_penalty=0.1,
    treatment_learning_rate=1.5e-3,
    learning_rate=1.5e-3,
    spectral_steps=600,
    iterations=0,
    checks=3,
    swap_solve=False,
    members=2,
  )


def _mnist_deepgmm(parameters: Mapping[str, Any]) -> deepgmm.Config:
  return deepgmm.Config(
    **_mnist_nets(
      parameters,
      _DIGIT,
      lambda *body: (*body, Dense(32), Dense(1, None)),
      lambda *body: (*body, Dense(32), Dense(1, None)),
    ),
    batch_size=256,
    steps=400,
    checks=20,
  )


_Settings = Mapping[str, Mapping[str, Callable[[Mapping[str, Any]], Any]]]
OURS: _Settings = {
  'dsprites': {
    'dfiv': _dsprites_dfiv,
    'kiv': _dsprites_kiv,
    'deepgmm': _dsprites_deepgmm,
    'deepiv': _dsprites_deepiv,
    'two_sls': _dsprites_two_sls,
  },
  'demand_mnist': {
    'dfiv': _demand_dfiv,
    'kiv': _demand_kiv,
    'deepiv': _demand_deepiv,
    'deepgmm': _demand_deepgmm,
  },
  'mnist': {'dfiv': _mnist_dfiv, 'deepgmm': _mnist_deepgmm},
}
PAPER: _Settings = {
  'dsprites': {
    'dfiv': _dsprites_dfiv_paper,
    'kiv': _dsprites_kiv_paper,
    'deepgmm': _dsprites_deepgmm_paper,
  },
  'demand_mnist': {
    'dfiv': _demand_dfiv_paper,
    'kiv': _demand_kiv_paper,
    'deepiv': _demand_deepiv_paper,
    'deepgmm': _demand_deepgmm_paper,
  },
  'mnist': {},
}
