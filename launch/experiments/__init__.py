"""Experiments: planned, run by one scheduler wherever there is room, kept.

An experiment is a problem, a method with its config, and a seed; its key names
its row. `plan` makes jobs of what is asked for, `store` says which are done,
`scheduler` takes the others through an executor to `worker`, and only it
writes rows.
"""
