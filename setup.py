"""Where the packages of dfiv-ope lie: top-level folders install inside it.

Everything else about the distribution is in pyproject.toml.
"""

import setuptools

# `datasets`, `agents`, ... are top-level folders of the repository but must
# not become top-level packages of site-packages.
_MAPPED = ('agents', 'envs', 'datasets', 'launch')

_PACKAGES = [
  *setuptools.find_packages(include=['dfiv_ope', 'dfiv_ope.*']),
  *(f'dfiv_ope.{name}' for name in _MAPPED),
  *(
    f'dfiv_ope.{name}.{inner}'
    for name in _MAPPED
    for inner in setuptools.find_packages(name)
  ),
]

setuptools.setup(
  packages=_PACKAGES,
  package_dir={f'dfiv_ope.{name}': name for name in _MAPPED},
  package_data={
    'dfiv_ope': ['py.typed'],
    'dfiv_ope.evaluation': ['*.csv'],
    'dfiv_ope.launch.reporting': ['templates/*'],
  },
)
