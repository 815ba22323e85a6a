"""The command that makes a row again, which the row says of itself."""

import shlex

from dfiv_ope import agents, configs
from dfiv_ope.evaluation import result_rows
from dfiv_ope.launch.experiments import inputs, jobs, store


def remake(job: jobs.Experiment, places: store.Places) -> str:
  """Returns the command of an experiment on a dataset.

  That of the log's average comes with any method.
  """
  problem = job.problem
  assert isinstance(problem, inputs.Simulated | inputs.OnLog)
  parts = [
    'dfiv-ope',
    'evaluate',
    str(places.dataset(problem.dataset)),
    '--out',
    str(places.out),
  ]
  if isinstance(problem, inputs.OnLog):
    name = f'{problem.name}=' if problem.name else ''
    parts += [
      '--policy',
      f'{name}{problem.policy}',
      *(['--initial', str(problem.initial)] if problem.initial else []),
    ]
  elif problem.target_epsilon:
    parts += [
      '--target-epsilon',
      f'{problem.target_epsilon:g}',
      '--truth-episodes',
      str(problem.truth_episodes),
    ]
  if problem.trust_policy:
    parts.append('--trust-policy')
  if problem.all_columns:
    parts.append('--all-columns')
  if job.method == result_rows.LOG:
    return shlex.join([*parts, '--method', agents.NAMES[0]])
  parts += ['--method', job.method, '--config', job.preset]
  preset = agents.ENTRIES[job.method].configs[job.preset]
  for name, value in configs.changes(preset, job.config).items():
    parts += ['--set', f'{name}={value}']
  return shlex.join([*parts, '--seeds', str(job.seed + 1)])
