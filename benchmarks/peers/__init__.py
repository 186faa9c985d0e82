"""Compares Holter with other trackers: the same workloads in turn, each peer in its own environment.

    python benchmarks/peers [--quick] [--only NAME,NAME] [--workloads W1,R20] [--write]

Each peer is a class `...Peer(folder)` in one file. `write(workload, rows)` returns when all points are
stored; `readers(workload)` returns the queries by name, each a function that returns how many points it read,
with the expected number; `loaders(path)` returns the ways to load a folder of event files; `size()` returns
bytes on disk; `close()` stops its processes.
"""
