"""The client that lives in training processes: standard library only, never in the way of the training.

    run = holter.init(project="llm", run="104b")
    run.log({"loss": 2.3, "lr": 3e-4}, step=17)
    run.finish()

`log` puts numbers into memory; a background thread writes them to a spool on local disk, another sends
the spool to the server. Neither a slow disk, nor a server that is away, nor a strange value reaches the
training loop.
"""

from __future__ import annotations

from holter.client.run import Run, init

__all__ = ["Run", "init"]
