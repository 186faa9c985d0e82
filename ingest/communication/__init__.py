"""Formats of collective communication: benchmarks, NCCL's logs and profiler, PyTorch's dumps and traces.

Their steps are not those of training but sequence numbers, message sizes and the like; the label `steps` of
a series names the unit.
"""
