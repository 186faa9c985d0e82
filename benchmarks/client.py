"""Measures what `log` costs the training loop: microseconds per call with 10 metrics, and the slowest call.

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


class AcceptAllHandler(BaseHTTPRequestHandler):
    """Accepts every request at once, so that only the client's own work is measured."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"accepted": 0, "run_id": "x", "attempt": 0}')

    def log_message(self, format: str, *args: Any) -> None:
        pass


class FakeTensor:
    """Converts to a float as torch scalars do."""

    def __float__(self) -> float:
        return 2.5


def time_calls(
    log: Callable[[Mapping[str, Any]], None], metrics: Mapping[str, Any], calls: int, pause: float
) -> str:
    """Median, 99th percentile and maximum of `calls` calls, `pause` seconds apart."""
    log(metrics)  # the first call registers the names
    durations = []
    for _ in range(calls):
        start = time.perf_counter()
        log(metrics)
        durations.append(1e6 * (time.perf_counter() - start))
        if pause:
            time.sleep(pause)
    durations.sort()
    median, p99 = statistics.median(durations), durations[int(0.99 * len(durations))]
    return f"median {median:6.2f}   99 % {p99:7.2f}   max {durations[-1]:9.1f}"


def main() -> None:
    """Measure with a server that answers and with one that is unreachable."""
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000
    logging.disable()
    gc.disable()
    metrics_by_type: dict[str, Mapping[str, Any]] = {
        "floats": {f"metric/{number}": float(number) for number in range(10)},
        "numpy float32": {f"metric/{number}": np.float32(number) for number in range(10)},
        "tensors": {f"metric/{number}": FakeTensor() for number in range(10)},
        "nested": {"metric": {str(number): float(number) for number in range(10)}},
    }
    server = ThreadingHTTPServer(("127.0.0.1", 0), AcceptAllHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("microseconds per call of log() with 10 metrics")
    for state, address in {
        "reachable": f"http://127.0.0.1:{server.server_port}",
        "unreachable": "http://127.0.0.1:9",
    }.items():
        for name, metrics in metrics_by_type.items():
            for rate, pause in {"1 ms steps": 0.001, "no pause": 0.0}.items():
                with tempfile.TemporaryDirectory() as spool:
                    run = holter.init("benchmark", name, server=address, spool=spool)
                    line = time_calls(run.log, metrics, calls, pause)
                    print(f"server {state:<11} {name:<14} {rate:<11} {line}")
                    run.close(10)
    server.shutdown()


if __name__ == "__main__":
    main()
