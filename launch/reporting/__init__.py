"""What is printed and drawn of result rows: tables, figures, one page.

`frames` makes a data frame of rows, `ranking`, `details` and `plots` make
tables and figures of frames, `tables`, `figures` and `svg` write them, and
`page` puts all on one page. `log_results` gathers what was run on each log and
policy and `forest` draws it: `simulated` shows it beside the truth, `log` for
users' logs (`log_tables`), where `advice` judges it. `selection_table` has
choices between methods, `measured_coverage` how often intervals held the truth
elsewhere, `summary_table` what `dfiv-ope evaluate` prints.
"""
