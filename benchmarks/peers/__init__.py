"""Compares Holter with other trackers: the same workloads in turn, each peer in its own environment.

    python benchmarks/peers [--quick] [--only NAME,NAME] [--workloads W1,R20] [--write]

Each peer is a class `...Peer(folder)` in one file, derived from `PeerBase` (`peer.py`).
`write(workload, runs)` returns when all points are stored; `readers(workload)` returns the questions by name,
each a function that returns how many points it read, with the expected number; `loaders(path)` returns the
ways to load a folder of event files; `is_quiet()`, `compact()` and `close()` are optional.
"""
