"""Logs read whole and at once, in memory: a run's data for its analysis, and what was made of each file."""
