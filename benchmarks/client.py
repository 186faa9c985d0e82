"""What `log` costs the training loop: microseconds a call with 10 metrics, and how long the slowest took.

usage: python benchmarks/client.py [CALLS]
"""

from __future__ import annotations

import gc
import logging
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

import holter


class Taker(BaseHTTPRequestHandler):
    """A server that accepts everything at once, so that the client's own work is what is measured."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"accepted": 0, "run_id": "x", "attempt": 0}')

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Tensor:
    """Converts as torch scalars do."""

    def __float__(self) -> float:
        return 2.5


def loop(
    log: Callable[[Mapping[str, Any]], None], metrics: Mapping[str, Any], calls: int, pause: float
) -> str:
    """Median, 99th percentile and worst of `calls` calls, `pause` seconds apart."""
    log(metrics)  # the first call learns the names
    costs = []
    for _ in range(calls):
        begin = time.perf_counter()
        log(metrics)
        costs.append(1e6 * (time.perf_counter() - begin))
        if pause:
            time.sleep(pause)
    costs.sort()
    median, late = statistics.median(costs), costs[int(0.99 * len(costs))]
    return f"median {median:6.2f}   99 % {late:7.2f}   worst {costs[-1]:9.1f}"


def main() -> None:
    """Measure with a server that answers and with one that is away."""
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000
    logging.disable()
    gc.disable()
    kinds: dict[str, Mapping[str, Any]] = {
        "floats": {f"metric/{number}": float(number) for number in range(10)},
        "numpy float32": {f"metric/{number}": np.float32(number) for number in range(10)},
        "tensors": {f"metric/{number}": Tensor() for number in range(10)},
        "nested": {"metric": {str(number): float(number) for number in range(10)}},
    }
    taker = ThreadingHTTPServer(("127.0.0.1", 0), Taker)
    threading.Thread(target=taker.serve_forever, daemon=True).start()
    print("microseconds a call of log() with 10 metrics")
    for place, server in {
        "answers": f"http://127.0.0.1:{taker.server_port}",
        "away": "http://127.0.0.1:9",
    }.items():
        for name, metrics in kinds.items():
            for pace, pause in {"1 ms steps": 0.001, "no pause": 0.0}.items():
                with tempfile.TemporaryDirectory() as spool:
                    run = holter.init("benchmark", name, server=server, spool=spool)
                    print(f"server {place:<8} {name:<14} {pace:<11} {loop(run.log, metrics, calls, pause)}")
                    run.close(10)
    taker.shutdown()


if __name__ == "__main__":
    main()
