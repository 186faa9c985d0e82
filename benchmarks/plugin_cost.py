"""What a plug-in adds to a step of training: medians of its calls within a step, beside a step without it.

    python benchmarks/plugin_cost.py [--steps 3000]

Steps take 1 ms of processor time, so that caches are as cold as in a loop. With the Python of
`make test-frameworks` the callback of transformers is measured, too. Nothing listens at the address: what is
logged waits on disk.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from types import SimpleNamespace

from holter.integrations import TrainingMonitor

ADDRESS = "http://127.0.0.1:9"
Step = Callable[[int], None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=3000)
    steps = parser.parse_args().steps
    with tempfile.TemporaryDirectory() as spool:
        monitor = TrainingMonitor("benchmark", "plugin", server=ADDRESS, spool=spool)
        for name, step in (("without", lambda step: None), *plugins(monitor)):
            low, middle, high = measure(step, steps)
            print(f"{name:50} median {middle:6.1f} us   quartiles {low:6.1f} to {high:6.1f}")
        monitor.run.close(0.0)


def plugins(monitor: TrainingMonitor) -> list[tuple[str, Step]]:
    """What each plug-in calls in a step."""
    batch = {"index": list(range(8)), "shard": 3}

    def loop(step: int) -> None:
        monitor.batch_arrived(batch, waited=0.001, epoch=0)
        monitor.step(step, {"loss": 2.5, "grad_norm": 0.5, "lr": 1e-4})

    measured = [("TrainingMonitor: times, batch, 3 metrics, status", loop)]
    try:
        from holter.integrations.transformers import HolterCallback  # noqa: PLC0415 - may not be installed
    except ImportError:
        return measured
    callback = HolterCallback()
    callback._monitor = monitor
    control = SimpleNamespace()
    state = SimpleNamespace(global_step=0)
    logs = {"loss": 2.5, "grad_norm": 0.5, "learning_rate": 1e-4, "epoch": 0.5}

    def trainer(step: int) -> None:
        state.global_step = step
        callback.on_step_begin(None, state, control)
        callback.on_step_end(None, state, control)
        callback.on_log(None, state, control, logs=logs)

    return [*measured, ("HolterCallback of transformers: the same", trainer)]


def measure(call: Step, steps: int) -> list[float]:
    """Quartiles of the microseconds that a call takes after a step of 1 ms."""
    took = []
    for step in range(steps):
        until = time.perf_counter() + 0.001
        while time.perf_counter() < until:
            sum(range(100))
        began = time.perf_counter()
        call(step)
        took.append((time.perf_counter() - began) * 1e6)
    return statistics.quantiles(took[steps // 10 :], n=4)


if __name__ == "__main__":
    main()
