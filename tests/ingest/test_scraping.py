"""Exporters over real HTTP: what they say becomes points, and what is wrong with one is its own trouble."""

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

DATA = Path(__file__).parents[1] / "data" / "telemetry"
DCGM = (DATA / "dcgm-exporter.prom").read_bytes()


class Kept:
    """A sink that remembers deliveries."""

    def __init__(self) -> None:
        self.deliveries: list[Delivery] = []

    def accept(self, delivery: Delivery, *, timeout: float = 30) -> None:
        self.deliveries.append(delivery)

    def of(self, run: str) -> list[Delivery]:
        return [one for one in self.deliveries if one.run == run]

    def writers(self) -> set[str]:
        return {one.writer for one in self.deliveries}


def one_run() -> list[tuple[str, str]]:
    return [("llm", "a")]


def keys(delivery: Delivery) -> set[SeriesKey]:
    return {column.key for column in delivery.batch.columns}


def test_pages_become_points_of_every_run_under_way_at_the_time_of_the_scrape() -> None:
    retained = Kept()
    runs = [("llm", "a"), ("llm", "b")]
    begin = time.time()
    with (
        exporter(page(DCGM)) as dcgm,
        exporter(page(NODE)) as node,
        Scraper([dcgm, node], retained, lambda: runs, every=1.0).running(),
    ):
        wait_for(lambda: len(retained.of("a")) >= 4 and len(retained.of("b")) >= 4)
    assert len({one.batch_id for one in retained.of("a")}) == len(retained.of("a"))
    labels = (("gpu", "0"), ("host", "n17"), ("steps", "milliseconds"))
    found = next(one for one in retained.of("a") if SeriesKey("gpu_last_xid", labels) in keys(one))
    assert begin - 1 < float(found.batch.times[0]) < time.time() + 1
    assert all(key.has_clock_steps for one in retained.deliveries for key in keys(one))
    assert {str(key): value for key, value in found.batch.config.items()}[
        "gpu.name{gpu=0,host=n17}"
    ] == "NVIDIA A100-SXM4-80GB"
    node_keys = next(
        keys(one) for one in retained.of("b") if SeriesKey("gpu_last_xid", labels) not in keys(one)
    )
    assert {key.metric for key in node_keys} >= {"node_load1", "node_vmstat_oom_kill"}
    assert len(node_keys) == 24


def test_one_that_is_dead_slow_huge_or_sends_elsewhere_stops_none_of_the_others(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scrape, "_RESPONSE_TIMEOUT", 1.0)
    monkeypatch.setattr(scrape, "MAX_PAGE_BYTES", 1024 * 1024)
    visited: list[str] = []

    def elsewhere(request: BaseHTTPRequestHandler) -> None:
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

    def packed(request: BaseHTTPRequestHandler) -> None:
        body = gzip.compress(NODE)
        request.send_response(200)
        request.send_header("Content-Encoding", "gzip")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    retained = Kept()
    with (
        exporter(page(NODE)) as good,
        exporter(elsewhere) as moved,
        exporter(drips) as slow,
        exporter(refuses) as angry,
        exporter(packed) as zipped,
        exporter(page(b"node_load1 1\n" * 200_000)) as huge,
        exporter(page(b"<html>no metrics</html>")) as other,
        caplog.at_level(logging.WARNING),
    ):
        dead = "http://user:secret@127.0.0.1:9/metrics"
        all_of_them = [dead, moved, slow, angry, zipped, huge, other, good]
        with Scraper(all_of_them, retained, one_run, every=1.0).running():
            wait_for(lambda: len(retained.deliveries) >= 4)
            wait_for(lambda: len({one.args[0] for one in caplog.records}) >= 7)
    assert retained.writers() == {f"scrape {good}"}
    stated = {str(one.args[0]): str(one.args[1]) for one in caplog.records if isinstance(one.args, tuple)}
    assert "found a redirect (302)" in stated[moved]
    assert set(visited) == {"/metrics"}
    assert "no complete response" in stated[slow]
    assert "status 503" in stated[angry]
    assert "not compressed" in stated[zipped]
    assert "at most 1 MiB" in stated[huge]
    assert "none of the allowlist" in stated[other]
    assert "http://127.0.0.1:9/metrics" in stated
    assert "secret" not in caplog.text


def test_one_that_comes_back_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    answers = [True]

    def sometimes(request: BaseHTTPRequestHandler) -> None:
        page(NODE)(request) if not answers else request.send_error(500)

    retained = Kept()
    with (
        exporter(sometimes) as address,
        caplog.at_level(logging.WARNING),
        Scraper([address], retained, one_run, every=0.2).running(),
    ):
        wait_for(lambda: "status 500" in caplog.text)
        answers.clear()
        wait_for(lambda: "responds again" in caplog.text)
    assert caplog.text.count("status 500") == 1


def test_a_sink_that_fails_is_the_trouble_of_that_scrape_alone(caplog: pytest.LogCaptureFixture) -> None:
    class Failing(Kept):
        def accept(self, delivery: Delivery, *, timeout: float = 30) -> None:
            if not self.deliveries:
                self.deliveries.append(delivery)
                raise TimeoutError("the database is busy")
            super().accept(delivery)

    retained = Failing()
    with exporter(page(NODE)) as address, Scraper([address], retained, one_run, every=0.2).running():
        wait_for(lambda: len(retained.deliveries) >= 3)


def test_series_are_bounded_and_broken_lines_counted() -> None:
    lines = [f'DCGM_FI_DEV_GPU_TEMP{{gpu="{number}",Hostname="n1"}} 50' for number in range(5000)]
    found = parse_page(
        "\n".join([*lines, "node_load1 one", "node_load1{ 2"]), 1.7e9, "n1", build_allowlist(())
    )
    assert (len(found.batch.columns), found.left_out, found.broken) == (scrape.MAX_SERIES, 904, 2)


def metrics(*patterns: str) -> set[str]:
    found = parse_page(NODE.decode(), 1.7e9, "n", build_allowlist(patterns)).batch
    return {column.key.metric for column in found.columns}


def test_patterns_add_metrics() -> None:
    added = metrics("node_disk_io_*") - metrics()
    assert added >= {"node_disk_io_now", "node_disk_io_time_seconds_total"}
    assert all(name.startswith("node_disk_io_") for name in added)
    assert without_credentials("http://u:p@n1:9400/metrics?token=x") == "http://n1:9400/metrics"
