"""Result rows: what was run on what, and what came of it.

`problems` has one type for each kind of problem, `rows` the row and its key,
`files` the file of rows of a run directory.
"""
