"""Holter beside its peers: the same workloads in turn in one run, each peer in an environment of its own.

    python benchmarks/peers [--quick] [--only NAME,NAME] [--workloads W1,R20] [--write]

One file a peer, each with a class `Peer(folder)`: `write(workload)` returns when all points are kept,
`readers(workload)` gives what can be asked by name, each call returning how many points it found,
`load(path)` reads a folder of event files, `size()` counts bytes, `close()` ends what it started.
"""
