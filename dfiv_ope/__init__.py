"""Off-policy evaluation and deep instrumental-variable regression.

The package imports nothing heavy by itself: `import dfiv_ope` does not load
TensorFlow, so that the command line answers at once.
"""

__version__ = '0.1.0'
