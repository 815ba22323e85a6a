"""What `dfiv-ope report` makes of result rows: tables, figures, one page.

`frames` makes a data frame of rows, `ranking`, `details` and `demand` make
tables and figures of frames, `tables`, `figures` and `svg` write them, and
`page` puts all on one page. For users' logs, `cases` gathers what was run on
each log and policy, `advice` judges it, `log`, `forest` and `choices` show it.
"""
