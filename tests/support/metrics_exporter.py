"""A Prometheus exporter on loopback for tests of scraping, and a real page of node_exporter."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from tests.support.http_servers import serving

DATA = Path(__file__).parents[1] / "data" / "telemetry"
NODE = gzip.decompress((DATA / "node_exporter-n17.prom.gz").read_bytes())

Answer = Callable[[BaseHTTPRequestHandler], None]


@contextmanager
def exporter(answer: Answer) -> Iterator[str]:
    """A real HTTP server on loopback; its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with serving(Handler) as address:
        yield f"{address}/metrics"


def page(body: bytes) -> Answer:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    return answer
