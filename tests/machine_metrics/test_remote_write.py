"""Metrics by Prometheus remote write: a body of a real Prometheus, and what is refused."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import cramjam
import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holter.server.context import ServerContext
from holter.server.machine_metrics.protobuf_messages import WriteRequest
from holter.server.machine_metrics.remote_write import RemoteWriteError, parse_write_request
from holter.server.machine_metrics.samples import MAX_SERIES, host_of_address

RECORDED = (Path(__file__).parents[1] / "support" / "prometheus_write_request.bin").read_bytes()
"""What Prometheus 2.42.0 (Debian) sent after it had scraped a page like that of dcgm-exporter twice."""
Stored = Callable[[], dict[str, list[float]]]


def body(series: Mapping[tuple[tuple[str, str], ...], list[float]], at: float) -> bytes:
    """A compressed request; labels, and a value each second."""
    request = WriteRequest()
    for labels, values in series.items():
        added = request.timeseries.add()
        for name, value in labels:
            added.labels.add(name=name, value=value)
        for second, value in enumerate(values):
            added.samples.add(value=value, timestamp=int((at + second) * 1000))
    return bytes(cramjam.snappy.compress_raw(request.SerializeToString()))


def send(address: str, content: bytes, **headers: str) -> httpx.Response:
    usual = {"content-encoding": "snappy", "content-type": "application/x-protobuf"}
    return httpx.post(address, content=content, headers={**usual, **headers}, timeout=60)


@pytest.fixture
def address(server: tuple[ServerContext, str], run: str) -> str:
    return f"{server[1]}/api/v1/write?project={run}&run={run}"


def test_a_body_of_a_real_prometheus_is_stored_under_holters_names(address: str, stored: Stored) -> None:
    answer = send(address, RECORDED)
    assert (answer.status_code, answer.content) == (204, b"")
    found = stored()
    assert set(found) == {
        "gpu_power (W){gpu=0,host=n17}",
        "gpu_util (%){gpu=0,host=n17}",
        "node_load1{host=127.0.0.1}",
        "node_network_receive_bytes_total{device=ib0,host=127.0.0.1}",
    }
    assert set(found["gpu_power (W){gpu=0,host=n17}"]) == {611.25}


def test_a_repeated_request_and_repeated_samples_are_stored_once(address: str, stored: Stored) -> None:
    now = time.time()
    labels = (("__name__", "node_load1"), ("instance", "n17:9100"), ("job", "node"))
    for values in ([1.0, 2.0], [1.0, 2.0], [1.0, 2.0, 3.0]):
        assert send(address, body({labels: values}, now)).status_code == 204
    assert stored() == {"node_load1{host=n17}": [1.0, 2.0, 3.0]}


def test_the_markers_with_which_series_end_are_no_values(address: str, stored: Stored) -> None:
    labels = (("__name__", "node_load1"), ("instance", "n17:9100"))
    send(address, body({labels: [1.0, float("nan")]}, time.time()))
    assert stored() == {"node_load1{host=n17}": [1.0]}


def test_samples_out_of_order_are_stored_in_order(address: str, stored: Stored) -> None:
    now = time.time()
    labels = (("__name__", "node_load1"), ("instance", "n17:9100"))
    send(address, body({labels: [3.0]}, now + 2))
    send(address, body({labels: [1.0]}, now))
    assert stored() == {"node_load1{host=n17}": [1.0, 3.0]}


def test_series_beyond_the_limit_are_refused_and_the_others_stored(address: str, stored: Stored) -> None:
    series = {
        (("__name__", "node_load1"), ("instance", f"n{number}")): [1.0] for number in range(MAX_SERIES + 5)
    }
    answer = send(address, body(series, time.time()))
    assert answer.status_code == 400
    assert "5 samples: more than 4,096 series" in answer.text
    assert len(stored()) == MAX_SERIES


@pytest.mark.parametrize(
    ("content", "headers", "status", "words"),
    [
        (b"\x05nonsense", {}, 400, "not snappy"),
        (cramjam.snappy.compress_raw(b"\xff\xff"), {}, 400, "no WriteRequest"),
        (cramjam.snappy.compress_raw(bytes(17 * 2**20)), {}, 413, "max_samples_per_send"),
        (b"x", {"content-encoding": "gzip"}, 415, "expected snappy"),
        (b"x", {"content-type": "application/x-protobuf;proto=io.prometheus.write.v2.Request"}, 415, "1.0"),
    ],
)
def test_bad_bodies_are_refused_in_words(
    address: str, content: bytes, headers: dict[str, str], status: int, words: str
) -> None:
    answer = send(address, bytes(content), **headers)
    assert (answer.status_code, words in answer.text) == (status, True)


@pytest.mark.parametrize(
    ("given_address", "host"),
    [("n17:9100", "n17"), ("n17", "n17"), ("[fd00::1]:9100", "fd00::1"), ("fd00::1", "fd00::1"), ("", "")],
)
def test_the_host_of_an_address_has_no_port(given_address: str, host: str) -> None:
    assert host_of_address(given_address) == host


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_no_content_breaks_the_parser(content: bytes) -> None:
    with suppress(RemoteWriteError):
        parse_write_request(content, lambda _: True)
