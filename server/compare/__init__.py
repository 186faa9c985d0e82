"""Comparison of stored runs: curves on common axes, differences of settings and figures, statistics."""
