"""Scraping exporters over HTTP: samples become points, and a failing exporter affects no other."""

from __future__ import annotations

import gzip
import logging
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from holter.ingest.telemetry import scrape
from holter.ingest.telemetry.metric_allowlist import build_allowlist
from holter.ingest.telemetry.scrape import Scraper, parse_page, without_credentials
from holter.types import Delivery, SeriesKey
from tests.support.metrics_exporter import NODE, exporter, page
from tests.support.waiting import wait_for

DATA = Path(__file__).parents[2] / "data" / "telemetry"
DCGM = (DATA / "dcgm-exporter.prom").read_bytes()


class RecordingSink:
    """A sink that stores deliveries in a list."""

    def __init__(self) -> None:
        self.deliveries: list[Delivery] = []

    def accept(self, delivery: Delivery, *, timeout: float = 30) -> None:
        self.deliveries.append(delivery)

    def of(self, run: str) -> list[Delivery]:
        return [delivery for delivery in self.deliveries if delivery.run == run]

    def writers(self) -> set[str]:
        return {delivery.writer for delivery in self.deliveries}


def active_run() -> list[tuple[str, str]]:
    return [("llm", "a")]


def keys(delivery: Delivery) -> set[SeriesKey]:
    return {column.key for column in delivery.batch.columns}


@pytest.mark.slow
def test_samples_become_points_of_every_active_run_at_the_time_of_the_scrape() -> None:
    sink = RecordingSink()
    runs = [("llm", "a"), ("llm", "b")]
    begin = time.time()
    with (
        exporter(page(DCGM)) as dcgm,
        exporter(page(NODE)) as node,
        Scraper([dcgm, node], sink, lambda: runs, every=1.0).running(),
    ):
        wait_for(lambda: len(sink.of("a")) >= 4 and len(sink.of("b")) >= 4)
    assert len({delivery.batch_id for delivery in sink.of("a")}) == len(sink.of("a"))
    labels = (("gpu", "0"), ("host", "n17"), ("steps", "milliseconds"))
    gpus = next(delivery for delivery in sink.of("a") if SeriesKey("gpu_last_xid", labels) in keys(delivery))
    assert begin - 1 < float(gpus.batch.times[0]) < time.time() + 1
    assert all(key.has_clock_steps for delivery in sink.deliveries for key in keys(delivery))
    assert {str(key): value for key, value in gpus.batch.config.items()}[
        "gpu.name{gpu=0,host=n17}"
    ] == "NVIDIA A100-SXM4-80GB"
    node_keys = next(
        keys(delivery) for delivery in sink.of("b") if SeriesKey("gpu_last_xid", labels) not in keys(delivery)
    )
    assert {key.metric for key in node_keys} >= {"node_load1", "node_vmstat_oom_kill"}
    assert len(node_keys) == 24


@pytest.mark.slow
def test_failing_exporters_do_not_affect_the_others(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scrape, "_RESPONSE_TIMEOUT", 1.0)
    monkeypatch.setattr(scrape, "MAX_PAGE_BYTES", 1024 * 1024)
    visited: list[str] = []

    def redirects(request: BaseHTTPRequestHandler) -> None:
        request.send_response(302)
        request.send_header("Location", "/other")
        request.send_header("Content-Length", "0")
        request.end_headers()
        visited.append(request.path)

    def drips(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.end_headers()
        try:
            for _ in range(100):
                request.wfile.write(b"node_load1 1\n")
                request.wfile.flush()
                time.sleep(0.1)
        except OSError:
            pass

    def refuses(request: BaseHTTPRequestHandler) -> None:
        request.send_error(503)

    def compresses(request: BaseHTTPRequestHandler) -> None:
        body = gzip.compress(NODE)
        request.send_response(200)
        request.send_header("Content-Encoding", "gzip")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    sink = RecordingSink()
    with (
        exporter(page(NODE)) as good,
        exporter(redirects) as moved,
        exporter(drips) as slow,
        exporter(refuses) as refusing,
        exporter(compresses) as compressed,
        exporter(page(b"node_load1 1\n" * 200_000)) as huge,
        exporter(page(b"<html>no metrics</html>")) as other,
        caplog.at_level(logging.WARNING),
    ):
        dead = "http://user:secret@127.0.0.1:9/metrics"
        endpoints = [dead, moved, slow, refusing, compressed, huge, other, good]
        with Scraper(endpoints, sink, active_run, every=1.0).running():
            wait_for(lambda: len(sink.deliveries) >= 4)
            wait_for(lambda: len({record.args[0] for record in caplog.records}) >= 7)
    assert sink.writers() == {f"scrape {good}"}
    logged = {
        str(record.args[0]): str(record.args[1])
        for record in caplog.records
        if isinstance(record.args, tuple)
    }
    assert "found a redirect (302)" in logged[moved]
    assert set(visited) == {"/metrics"}
    assert "no complete response" in logged[slow]
    assert "status 503" in logged[refusing]
    assert "not compressed" in logged[compressed]
    assert "at most 1 MiB" in logged[huge]
    assert "none of the allowlist" in logged[other]
    assert "http://127.0.0.1:9/metrics" in logged
    assert "secret" not in caplog.text


def test_recovery_of_an_exporter_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    failing = [True]

    def sometimes(request: BaseHTTPRequestHandler) -> None:
        page(NODE)(request) if not failing else request.send_error(500)

    sink = RecordingSink()
    with (
        exporter(sometimes) as address,
        caplog.at_level(logging.WARNING),
        Scraper([address], sink, active_run, every=0.2).running(),
    ):
        wait_for(lambda: "status 500" in caplog.text)
        failing.clear()
        wait_for(lambda: "responds again" in caplog.text)
    assert caplog.text.count("status 500") == 1


def test_failing_sink_affects_only_that_scrape(caplog: pytest.LogCaptureFixture) -> None:
    class FailingSink(RecordingSink):
        def accept(self, delivery: Delivery, *, timeout: float = 30) -> None:
            if not self.deliveries:
                self.deliveries.append(delivery)
                raise TimeoutError("the database is busy")
            super().accept(delivery)

    sink = FailingSink()
    with exporter(page(NODE)) as address, Scraper([address], sink, active_run, every=0.2).running():
        wait_for(lambda: len(sink.deliveries) >= 3)


def test_series_are_bounded_and_broken_lines_counted() -> None:
    lines = [f'DCGM_FI_DEV_GPU_TEMP{{gpu="{number}",Hostname="n1"}} 50' for number in range(5000)]
    parsed = parse_page(
        "\n".join([*lines, "node_load1 one", "node_load1{ 2"]), 1.7e9, "n1", build_allowlist(())
    )
    assert (len(parsed.batch.columns), parsed.left_out, parsed.broken) == (scrape.MAX_SERIES, 904, 2)


def metrics(*patterns: str) -> set[str]:
    parsed = parse_page(NODE.decode(), 1.7e9, "n", build_allowlist(patterns)).batch
    return {column.key.metric for column in parsed.columns}


def test_patterns_add_metrics() -> None:
    added = metrics("node_disk_io_*") - metrics()
    assert added >= {"node_disk_io_now", "node_disk_io_time_seconds_total"}
    assert all(name.startswith("node_disk_io_") for name in added)
    assert without_credentials("http://u:p@n1:9400/metrics?token=x") == "http://n1:9400/metrics"
