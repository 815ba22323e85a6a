"""Help is instant because nothing heavy is imported for it."""

import subprocess
import sys


def test_help_does_not_load_tensorflow(command):
  code = (
      'import sys\n'
      'from dfiv_ope.launch import main\n'
      'try: main.app(["--help"])\n'
      'except SystemExit: pass\n'
      'heavy = {"tensorflow", "numpy", "reverb", "acme", "sonnet"}\n'
      'print("HEAVY", sorted(heavy & set(sys.modules)))\n')
  result = subprocess.run(
      [sys.executable, '-c', code], capture_output=True, text=True,
      check=True)
  assert 'HEAVY []' in result.stdout
  for name in ('policy', 'dataset'):
    assert name in result.stdout


def test_every_option_is_explained(command):
  text = command('dataset', 'make', '--help').stdout
  for words in ('--action-noise', '--epsilon', '--policy', 'Same seed'):
    assert words in text
