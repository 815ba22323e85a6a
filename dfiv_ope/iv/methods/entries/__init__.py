"""What is known of each method before it is loaded, one module each.

A module has `Config`, `CONFIGS` (presets by name: 'default', and 'paper' where
the paper has one for all rows) and `ENTRY`. Nothing here needs TensorFlow.
"""

from dfiv_ope import registry
from dfiv_ope.iv.methods.entries import (
  agmm,
  auto,
  deepgmm,
  deepiv,
  dfiv,
  kiv,
  sieve,
  two_sls,
)

# Colours are Okabe and Ito's, told apart without red and green, on white and
# black. Reports and commands have the methods in this order.
ENTRIES = registry.collect(
  (two_sls, sieve, kiv, agmm, auto, deepiv, deepgmm, dfiv)
)
