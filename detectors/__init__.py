"""Detectors: pure functions over numpy arrays, one pattern a file."""
