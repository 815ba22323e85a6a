"""The front door: evaluate and compare policies, and look at the answer."""
