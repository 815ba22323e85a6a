"""`dfiv-ope policy`: trains the policies that datasets are about."""

import pathlib
from typing import Annotated

import typer

from dfiv_ope import atomic_output, envs, limits, overrides
from dfiv_ope.agents.entries import trainers
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
  limits.count('--seed', seed, least=0, most=limits.SEED)
  envs.require(task)
  envs.make(task, action_noise=action_noise, seed=0)  # refuses what is wrong
  runtime.start()
  config = overrides.apply(
      trainers.config(task, continuous=envs.is_continuous(task)),
      settings or [])
  from dfiv_ope.agents import training
  with atomic_output.building(
      out, record=trained.RECORD,
      request=training.request(task, action_noise, seed, config)):
    training.write(
        out, task=task, action_noise=action_noise, seed=seed, config=config,
        make_environment=envs.maker(task, action_noise=action_noise),
        progress=console.progress)
  console.card(f'Policy {out}', trained.card(trained.read_record(out)))
