"""`dfiv-ope compare`: several policies on one log, ranked."""

from dfiv_ope import agents, overrides
from dfiv_ope.agents import configured
from dfiv_ope.launch import console, options, runtime


def compare(
  dataset: options.Dataset,
  policy: options.Compared = None,
  out: options.Out = options.DEFAULT_OUT,
  method: options.Methods = None,
  seeds: options.Seeds = 3,
  config: options.Preset = 'default',
  settings: options.Settings = None,
  truth: options.Truths = None,
  initial: options.Initial = None,
  trust_policy: options.TrustPolicy = False,
  level: options.Level = 0.95,
  as_json: options.Json = False,
) -> None:
  """Rank several policies by their values on one log.

  With lstd, the default, what does not depend on the policy is done once. The
  table has each estimate, its paired difference to the best and how likely the
  policy is the best; with --truth also rank correlation and regret. A picture
  goes to --out, and the rows that `evaluate` would write.

      dfiv-ope compare data/mine --policy old=mine:old --policy new=mine:new
  """
  methods = overrides.methods(
    method or options.ONE, agents.NAMES, settings or []
  )
  from dfiv_ope.datasets import finding
  from dfiv_ope.policies import naming

  policies = naming.several(policy or [])
  truths = naming.truths(truth or [], list(policies))
  finding.require(dataset)
  naming.check(*policies.values())
  wanted = [
    configured.configure(each.method, config, each.settings) for each in methods
  ]
  runtime.start(
    runtime.CORES,
    tensorflow=any(agents.ENTRIES[each.method].trained for each in methods),
  )
  from dfiv_ope.datasets import spec as spec_lib
  from dfiv_ope.evaluation import comparison, interval_settings
  from dfiv_ope.launch.experiments import command_line, inputs, jobs, ope_run
  from dfiv_ope.launch.experiments import plan as plan_lib
  from dfiv_ope.launch.experiments import store as store_lib
  from dfiv_ope.launch.reporting import policy_comparison

  metadata = spec_lib.read_metadata(dataset)
  interval_settings.require(
    [each.config for each in wanted], metadata.num_actions
  )
  asked = dict(
    zip(
      policies,
      inputs.on_log(
        dataset, policies, trust_policy=trust_policy, initial=initial
      ),
      strict=True,
    )
  )
  plan = [
    job
    for problem in asked.values()
    for job in plan_lib.evaluation(problem, wanted, seeds=seeds)
  ]
  have = store_lib.Store(store_lib.Places(out))
  with have.exclusive():
    have.refuse_others(plan)
    todo = {job.problem for job in plan if not have.has(job)}
    names = [name for name, problem in asked.items() if problem in todo]
    if names:
      with console.progress(
        'Comparing', seeds * len(wanted) * len(names)
      ) as update:
        for row in comparison.rows(
          inputs.open_log(dataset, initial),
          {name: ope_run.target(asked[name]) for name in names},
          wanted,
          seeds=seeds,
          progress=update,
          command=lambda name, method, seed: command_line.remake(
            jobs.of_method(asked[name], method, seed), have.places
          ),
        ):
          have.add(row)
    rows = have.told(plan, asked, truths)
  policy_comparison.answer(rows, out, level=level, as_json=as_json)
