"""Evaluation from a Reverb server."""

import dataclasses

import pytest

from dfiv_ope.agents import base, lstd, memory
from dfiv_ope.datasets import reading, sampling, serving
from dfiv_ope.ope import bellman


@pytest.mark.slow
def test_a_learner_fed_by_a_reverb_server_agrees_with_one_in_memory(dataset):
  log = reading.open_dataset(dataset)
  problem = bellman.pose(
    log.transitions, log.policy, discount=0.99, num_actions=3
  )
  server = serving.restore(dataset, num_observations=50)
  stream = sampling.Streaming(
    f'localhost:{server.port}',
    batch_size=500,
    part_count=40,
    shuffle_buffer=4_000,
    transform=problem.rows,
  )
  in_memory = memory.InMemory(
    problem.rows(log.transitions), batch_size=500, seed=0
  )
  config = dataclasses.replace(lstd.Config(), random_features=100, penalty=1e-4)
  estimates = []
  for data in (stream, in_memory):
    learner = base.OPELearner(
      lstd.make(config, problem, seed=0),
      problem,
      data,
      initial_observations=log.initial_observations,
    )
    learner.run()
    estimates.append(learner.evaluate())
  server.stop()
  # Each row comes ten times, give or take a third.
  assert estimates[0] == pytest.approx(
    estimates[1], abs=4.0 * log.metadata.behaviour.standard_error
  )
