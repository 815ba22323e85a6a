"""What is printed and drawn of result rows: tables, charts, one page.

`frames` makes a data frame of rows and `log_results` gathers what was run on
each log and policy. Charts are data (`charts`): `forest` has estimates with
intervals, `strips` errors of runs, `why` what speaks for an answer; the page
draws them with its own text, `chart_figure` as files. `answer` is what is read
first, `advice` judges it, `question` is a page about one policy on one log:
`simulated` has tasks whose truth is known, `log` users' logs, of which several
policies stand on one plot. `ranking` and `details` compare methods, `tables`
writes tables, `facts` say what a page is about, `page` puts all together.
"""
