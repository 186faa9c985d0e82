"""Queries over log and chunks together: series, charts, statistics, newest points."""
