"""Offline reading: complete logs in memory, as a run's data for analysis and as a report on each file."""
