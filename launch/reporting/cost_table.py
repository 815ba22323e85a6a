"""The table of `dfiv-ope benchmark learners`."""

from collections.abc import Iterable

from dfiv_ope.agents import costs
from dfiv_ope.launch import console


def show(measured: Iterable[costs.Cost], batch_size: int) -> None:
  """Prints what updates cost."""
  table = console.Table(f'CPU time on one thread, batches of {batch_size}')
  for column in (
    'learner',
    'unit',
    'one graph',
    'a call each',
    'bare products',
    'Mflop',
  ):
    table.add_column(
      column, justify='left' if column in ('learner', 'unit') else 'right'
    )
  for cost in measured:
    table.add_row(
      cost.learner,
      cost.unit,
      f'{cost.one_graph:.2f}',
      '-' if cost.call_each is None else f'{cost.call_each:.2f}',
      f'{cost.bare_products:.2f}',
      f'{cost.megaflop:.1f}',
    )
  table.show()
