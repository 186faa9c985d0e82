"""Detectors that compare ranks with their peers: stragglers, desync, hangs, slow communication."""
