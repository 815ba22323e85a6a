"""The six methods, one module each.

Each module has `Config`, `fit(config, stage1, stage2, *, seed, progress=None)`
and `build(config, sizes, *, seed=0)`; a `fit` whose model can predict while it
is trained may have `watch` (`descent.Watch`). `fit` takes standardised batches
whose instrument has the covariates among its columns, and returns a model with
`predict(treatment, covariate=None)`, its `config` and its `history`; `build`
makes one of the same shape, for a saved one to fill (`storage`): a
`closed_form.Model`, or a `tf.Module` where there is training. A method that is
trained has `TRAINED`: which losses of the history a longer training should
lower, and the hyper-parameter that makes it longer (`convergence`).
"""

from collections.abc import Mapping
import types

from dfiv_ope import registry

# Colours are Okabe and Ito's, told apart without red and green, on white and
# black.
ENTRIES: Mapping[str, registry.Entry] = {
    'two_sls': registry.Entry(version=1, style=registry.Style(
        label='2SLS', family=registry.CLOSED_FORM, color='#808080',
        marker='x')),
    'sieve': registry.Entry(version=1, style=registry.Style(
        label='Sieve IV', family=registry.CLOSED_FORM, color='#009e73',
        marker='s')),
    'kiv': registry.Entry(version=1, style=registry.Style(
        label='KIV', family=registry.CLOSED_FORM, color='#e69f00',
        marker='^')),
    'deepiv': registry.Entry(
        version=1,
        tiny={'density_steps': 4, 'response_steps': 4, 'checks': 2},
        style=registry.Style(
            label='DeepIV', family='neural IV', color='#56b4e9', marker='v')),
    'deepgmm': registry.Entry(
        version=1, tiny={'steps': 4, 'checks': 2}, style=registry.Style(
            label='DeepGMM', family='neural IV', color='#cc79a7', marker='D')),
    'dfiv': registry.Entry(
        version=1, tiny={'iterations': 4, 'checks': 2}, style=registry.Style(
            label='DFIV', family='neural IV', color='#1f7ac4', marker='o')),
}
NAMES = tuple(ENTRIES)
# These are solved without TensorFlow.
CLOSED_FORMS = tuple(
    name for name, entry in ENTRIES.items() if not entry.trained)


def load(name: str) -> types.ModuleType:
  """Returns the module of a method; a trained one imports TensorFlow."""
  return registry.load(name, ENTRIES, __name__)
