"""The logging client for training processes: standard library only; never blocks or fails the training.

    run = holter.init(project="llm", run="104b")
    run.log({"loss": 2.3, "lr": 3e-4}, step=17)
    run.finish()

`log` appends numbers to memory; one background thread writes them to a spool on local disk, another
uploads the spool to the server. A slow disk, an unreachable server or an invalid value never affects the
training loop.
"""

from __future__ import annotations

from holter.client.run import Run, init

__all__ = ["Run", "init"]
