"""`dfiv-ope evaluate`: what a policy is worth, by one method or by all."""

import dataclasses
import pathlib
from typing import TYPE_CHECKING, Annotated

import typer

from dfiv_ope import agents, limits, overrides
from dfiv_ope.agents import configured
from dfiv_ope.launch import console, files, log_options, options

if TYPE_CHECKING:
  from dfiv_ope.launch import runner
  from dfiv_ope.launch.experiments import inputs, store
  from dfiv_ope.results import rows

# What auto chooses from. DeepIV takes as long as all others together.
_CANDIDATES = tuple(name for name in agents.LEARNERS if name != 'deepiv')


def evaluate(
  dataset: options.Log,
  out: options.Out = options.DEFAULT_OUT,
  method: options.Evaluated = None,
  seeds: options.Seeds = 3,
  config: options.Preset = 'default',
  settings: options.Settings = None,
  policy: options.Policies = None,
  truth: options.Truths = None,
  initial: options.Initial = None,
  trust_policy: options.TrustPolicy = False,
  all_columns: Annotated[
    bool,
    typer.Option(
      '--all-columns',
      help='Keep observations that neither the policy nor '
      'the steps of the log depend on; they are left out otherwise, and the '
      'answer says which.',
    ),
  ] = False,
  level: options.Level = 0.95,
  target_epsilon: Annotated[
    float,
    typer.Option(
      help='Evaluate the policy of the dataset with this probability of a '
      'uniform action. The epsilon of the dataset gives the behaviour '
      'policy.',
      min=0.0,
      max=1.0,
    ),
  ] = 0.0,
  truth_episodes: Annotated[
    int,
    typer.Option(
      help='With --target-epsilon, simulate at most as many episodes for '
      'the true value.',
      min=2,
    ),
  ] = 40_000,
  columns: log_options.OfLog = log_options.OF_LOG,
  discount: Annotated[
    float | None,
    typer.Option(
      help='Of a log in files: discount of the value that is asked for, 0.99 '
      'without it; 1 if all episodes terminate.'
    ),
  ] = None,
  running: options.Running = options.RUNNING,
) -> None:
  """Estimate the value of a policy from a log, with a confidence interval.

  Without --method, the closed forms (lstd, kiv) and FQE are run, into ./runs
  without --out. The table has each method's estimate, averaged over seeds, its
  interval, and the naive answer, the average return of the log; beside them
  the true value, where the dataset was simulated. Several --policy are
  compared on the same log, with shared work. Rows with learning curves,
  configs and versions go to --out. A killed command goes on where it was when
  it is given again, and gives the same numbers.

      dfiv-ope evaluate data/mine --policy mine:policy

      dfiv-ope evaluate data/mine --policy old=mine:old --policy new=mine:new

      dfiv-ope evaluate data/catch --method all --workers 2 --out runs/catch

  Parquet and CSV files need no import: name one, or their folder, and say of
  the columns what `dfiv-ope dataset import` is told. A log of more than 200,000
  rows, in files or a dataset, is read in parts by lstd, kiv and what trains,
  and by tis and wis if behaviour probabilities are recorded; files also on the
  nodes of --ray, by all of these but what trains.

      dfiv-ope evaluate big.csv --policy mine:policy --method lstd
  """
  limits.share('--target-epsilon', target_epsilon)
  limits.count(
    '--truth-episodes', truth_episodes, least=2, most=limits.TRUTH_EPISODES
  )
  asked = _methods(method or [], settings or [])
  from dfiv_ope.datasets import finding
  from dfiv_ope.policies import naming

  policies = naming.named(policy or [])
  truths = naming.truths(truth or [], list(policies))
  if policies and target_epsilon:
    raise ValueError(
      '--target-epsilon changes the policy of a dataset, so it '
      'cannot go with --policy.'
    )
  if initial and not policies:
    raise ValueError('--initial goes with --policy: name the target policy.')
  wanted = [
    configured.configure(each.method, config, each.settings) for each in asked
  ]
  if files.is_file(dataset):
    if target_epsilon or initial or options.AUTO in (method or []):
      raise ValueError(
        'auto, --target-epsilon and --initial need a dataset, but '
        f'{dataset} is a log in files. Import it with dfiv-ope dataset import.'
      )
    naming.check(*policies.values())
    files.evaluate(
      dataset,
      policies,
      truths,
      wanted,
      named=bool(method),
      columns=columns,
      discount=discount,
      seeds=seeds,
      preset=config,
      trust_policy=trust_policy,
      all_columns=all_columns,
      level=level,
      out=out,
      running=running,
    )
    return
  finding.require(dataset)
  files.refuse_options(columns, discount, dataset)
  naming.check(*policies.values())
  from dfiv_ope.launch import runner
  from dfiv_ope.launch.experiments import inputs, long_run
  from dfiv_ope.launch.experiments import plan as plan_lib
  from dfiv_ope.launch.experiments import store as store_lib
  from dfiv_ope.launch.reporting import summary_table

  where = runner.executor(running.workers or 1, running.ray)
  if not method:
    others = [each for each in agents.NAMES if each not in options.EVALUATED]
    console.note(
      f'No --method: running {", ".join(options.EVALUATED)} into {out}. '
      f'Others: {", ".join(others)}, all, or auto to select one.'
    )
  auto = options.AUTO in (method or [])
  problems = _problems(
    dataset.resolve() if running.ray else dataset,
    policies,
    wanted,
    trust_policy=trust_policy,
    all_columns=all_columns,
    target_epsilon=target_epsilon,
    truth_episodes=truth_episodes,
    initial=initial,
  )
  if said := long_run.holding(
    problems[0],
    {
      **({options.AUTO: None} if options.AUTO in (method or []) else {}),
      **{each.method: each.config for each in wanted},
    },
  ):
    console.note(said)
  have = store_lib.Store(store_lib.Places(out))
  with have.exclusive():
    planned, choices = [], []
    for problem in problems:
      chosen = wanted
      if auto:
        learned = all(each.method in agents.LEARNERS for each in wanted)
        choose = _tournament if learned else _least_error
        chosen, scores = choose(problem, wanted, have, where)
        choices.append(scores)
      planned += plan_lib.evaluation(problem, chosen, seeds=seeds)
    finished = runner.run(planned, have, where, title='Evaluating')
    finished = dataclasses.replace(
      finished,
      rows=have.told(
        planned,
        {
          name: each
          for name, each in zip(policies, problems, strict=False)
          if isinstance(each, inputs.OnLog)
        },
        truths,
      ),
    )
  runner.answer(
    finished,
    out,
    show=lambda found: summary_table.print_table(
      found, level=level, choices=choices
    ),
    data=lambda found: summary_table.data(found, level=level, choices=choices),
    as_json=running.as_json,
  )


def _methods(method: list[str], settings: list[str]) -> list[overrides.Wanted]:
  """Returns the methods that are asked for, with their changes.

  Raises:
    ValueError: a method is not known.
  """
  auto = options.AUTO in method
  named = [name for name in method if name != options.AUTO]
  asked = overrides.methods(
    named or (_CANDIDATES if auto else options.EVALUATED),
    agents.NAMES,
    settings,
  )
  if auto and len(asked) == 1:
    raise ValueError(
      'auto chooses between methods. Name at least two others beside it, '
      'such as --method auto --method lstd --method kiv, or none.'
    )
  return asked


def _problems(
  dataset: pathlib.Path,
  policies: dict[str, str],
  wanted: list[configured.Configured],
  *,
  trust_policy: bool,
  all_columns: bool,
  target_epsilon: float,
  truth_episodes: int,
  initial: pathlib.Path | None,
) -> list['inputs.Simulated | inputs.OnLog']:
  """Returns what is asked of the dataset.

  Raises:
    ValueError: a policy does not fit, the log has none of its own, or features
      of a method do not fit the memory.
  """
  from dfiv_ope.datasets import spec as spec_lib
  from dfiv_ope.evaluation import interval_settings
  from dfiv_ope.launch.experiments import inputs
  from dfiv_ope.policies import naming

  metadata = spec_lib.read_metadata(dataset)
  interval_settings.require(
    [each.config for each in wanted], metadata.num_actions
  )
  if policies:
    return list(
      inputs.on_log(
        dataset,
        policies,
        trust_policy=trust_policy,
        initial=initial,
        all_columns=all_columns,
      )
    )
  if metadata.policy is None or metadata.truth is None:
    raise ValueError(
      f'{dataset} is an imported log without a target policy. Name one '
      f'with --policy. {naming.CHOICES}'
    )
  return [
    inputs.Simulated(
      dataset=dataset,
      target_epsilon=target_epsilon,
      truth_episodes=truth_episodes,
      trust_policy=trust_policy,
      all_columns=all_columns,
    )
  ]


def _tournament(
  problem: 'inputs.Simulated | inputs.OnLog',
  wanted: list[configured.Configured],
  have: 'store.Store',
  where: 'runner.Executor',
) -> tuple[list[configured.Configured], list['rows.Row']]:
  """Returns the candidate that the tournament prefers, and the scores of all.

  Raises:
    ValueError: the selection failed.
  """
  from dfiv_ope.launch import runner
  from dfiv_ope.launch.experiments import plan as plan_lib

  finished = runner.run(
    [plan_lib.choice(problem, wanted)], have, where, title='Choosing'
  )
  if finished.summary.failed:
    raise ValueError(next(iter(finished.summary.failed.values())))
  return _chosen(wanted, finished.rows), finished.rows


def _least_error(
  problem: 'inputs.Simulated | inputs.OnLog',
  wanted: list[configured.Configured],
  have: 'store.Store',
  where: 'runner.Executor',
) -> tuple[list[configured.Configured], list['rows.Row']]:
  """Returns the candidate of the least estimated error, and that of all.

  Raises:
    ValueError: none has an estimate, or all failed in the same way.
  """
  from dfiv_ope.evaluation import error_selection, result_rows
  from dfiv_ope.launch import runner
  from dfiv_ope.launch.experiments import plan as plan_lib

  finished = runner.run(
    plan_lib.evaluation(problem, wanted, seeds=1), have, where, title='Choosing'
  )
  runner.refuse_failures(finished.summary)
  scores = error_selection.judge(
    [row for row in finished.rows if row.method != result_rows.LOG]
  )
  return _chosen(wanted, scores), scores


def _chosen(
  wanted: list[configured.Configured], scores: list['rows.Row']
) -> list[configured.Configured]:
  """Returns the candidate whose row says that it was chosen."""
  best = next(row for row in scores if row.metrics.get('chosen'))
  return [
    each
    for each in wanted
    if (best.method, best.config) == (each.method, each.encoded)
  ]
