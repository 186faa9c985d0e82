"""Detectors of hardware trouble: memory that leaks, GPUs that report faults, GPUs that idle."""
