"""Acme learners."""
