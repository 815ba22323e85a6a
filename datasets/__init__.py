"""Offline datasets: what they are, how they are made, kept and read."""
