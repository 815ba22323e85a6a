"""What is known of each agent before it is loaded, one module each.

A module has `Config` (a `base.Config`, or a `base.MethodConfig` if it learns no
Q-function), `CONFIGS` ('default' and 'paper') and `ENTRY`; that of DQN, which
evaluates nothing, has `Config` and `TUNED`. Nothing here needs TensorFlow.
"""

from dfiv_ope import registry
from dfiv_ope.agents.entries import (
  blend,
  cme,
  deepgmm,
  deepiv,
  dfiv,
  dr,
  drl,
  fqe,
  kiv,
  lstd,
  magic,
  nearest,
  pdis,
  tis,
  wdr,
  wis,
  wpdis,
)

# Reports and commands have them in this order. With the default configs DFIV
# loses little or nothing by the quick budget, FQE a little, DeepGMM and DeepIV
# much (docs/results: reproduce.md against ope.md).
ENTRIES = registry.collect(
  (
    lstd,
    kiv,
    dfiv,
    fqe,
    deepgmm,
    deepiv,
    tis,
    wis,
    pdis,
    wpdis,
    dr,
    wdr,
    magic,
    drl,
    nearest,
    cme,
    blend,
  )
)
