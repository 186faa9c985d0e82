"""Detectors of numerical trouble: collapsing loss scales, and NaN that a logger masks."""
