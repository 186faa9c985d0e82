"""What collectives say of themselves: benchmarks, NCCL's own logs and profiler, PyTorch's dumps and traces.

All of it stands beside a training log: steps are sequence numbers, message sizes and the like, which the
label `steps` names.
"""
