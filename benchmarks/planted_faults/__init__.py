"""Simulated runs with planted faults, by what they affect: throughput, ranks, losses, loss scale, memory."""
