"""`dfiv-ope policy`: trains the policies that datasets are about."""

import pathlib
from typing import Annotated

import typer

from dfiv_ope.launch import console, options, runtime
from dfiv_ope.policies import trained


def train(
  task: options.Task,
  out: Annotated[pathlib.Path, typer.Option(help='A new directory.')],
  action_noise: options.ActionNoise = 0.2,
  seed: options.Seed = 0,
  settings: options.PolicySettings = None,
) -> None:
  """Train a policy and save it as a SavedModel.

  DQN trains it, or TD3 where actions are vectors: then the policy has Gaussian
  noise, of standard deviation 0.2 times half the range of the bounds. A killed
  run goes on from its last checkpoint when the same command is given again,
  and ends with the same policy.
  """
  wanted = options.training(task, action_noise, seed, settings)
  runtime.start()
  from dfiv_ope.launch.experiments import making

  making.policy(wanted, out, console.progress)
  console.card(f'Policy {out}', trained.card(trained.read_record(out)))
