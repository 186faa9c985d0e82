"""Detectors of throughput regressions and stalls."""
