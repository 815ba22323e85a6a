"""Packaging of dfiv-ope: the top-level folders install inside `dfiv_ope`."""

import pathlib

import setuptools

# `datasets`, `agents`, ... are top-level folders of the repository but must
# not become top-level packages of site-packages.
_MAPPED = ('agents', 'envs', 'datasets', 'launch')

_PACKAGES = [
    *setuptools.find_packages(include=['dfiv_ope', 'dfiv_ope.*']),
    *(f'dfiv_ope.{name}' for name in _MAPPED),
    *(f'dfiv_ope.{name}.{inner}' for name in _MAPPED
      for inner in setuptools.find_packages(name)),
]

# Formats of logs besides CSV and npz.
_FORMATS = [
    'pyarrow<26',
    'minari==0.5.3',
    'gymnasium',
    'h5py',
    'rlds==0.1.8',
    'tensorflow-datasets==4.9.4',
    'tensorflow-metadata<1.16',
    'onnxruntime==1.31.1',
]

# Tasks with bodies; the last MuJoCo that goes with this numpy and protobuf.
_CONTROL = ['dm_control==1.0.14', 'mujoco==2.3.7']

setuptools.setup(
    name='dfiv-ope',
    version='0.1.0',
    description=(
        'Off-policy evaluation and deep instrumental-variable regression.'),
    long_description=pathlib.Path('README.md').read_text(encoding='utf-8'),
    long_description_content_type='text/markdown',
    license='Apache-2.0',
    python_requires='>=3.11,<3.12',
    packages=_PACKAGES,
    package_dir={f'dfiv_ope.{name}': name for name in _MAPPED},
    package_data={
        'dfiv_ope': ['py.typed'],
        'dfiv_ope.evaluation': ['*.csv'],
        'dfiv_ope.launch.reporting': ['templates/*'],
    },
    install_requires=[
        'tensorflow==2.15.1',
        'tensorflow-probability==0.23.0',
        'dm-reverb==0.14.0',
        'dm-sonnet==2.0.2',
        'dm-acme==0.2.4',
        'dm-env==1.6',
        'dm-tree',
        'bsuite==0.3.6',
        'numpy==1.26.4',
        'pandas<3',
        'protobuf<5',
        'scipy',
        'scikit-learn',
        'formulaic',
        'matplotlib',
        'jinja2',
        'pyyaml',
        'typer',
        'rich',
    ],
    extras_require={
        'test': [
            'pytest',
            'pytest-xdist',
            'hypothesis',
            'linearmodels',
            'ivmodels==0.10.0',
            'ray',
            'rliable',
            'ruff',
            'mypy',
            *_FORMATS,
        ],
        'cluster': ['ray[default]'],
        'control': _CONTROL,
        'gym': ['gymnasium'],
        'formats': _FORMATS,
    },
    entry_points={'console_scripts': ['dfiv-ope = dfiv_ope.launch.main:main']},
)
