"""Comparison of runs: common axes, differences of settings, differences of curves with significance."""
