"""Logs with known answers; `suite.CASES` has them by name."""
