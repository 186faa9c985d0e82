"""Metrics by OTLP/HTTP: OpenTelemetry's real exporter, JSON, what is refused, and whose they are."""

from __future__ import annotations

import gzip
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)

from holter.server.auth import SCOPE_ROUTES
from holter.server.context import ServerContext
from holter.server.machine_metrics.otlp import JSON, PROTOBUF, OtlpError, parse_export
from holter.server.machine_metrics.protobuf_messages import Status
from holter.server.tokens import TokenScope

PROGRAM = Path(__file__).parents[1] / "support" / "otlp_program.py"
EXPANDS = gzip.compress(bytes(17 * 2**20))
Stored = Callable[[], dict[str, list[float]]]


def attribute(name: str, value: str) -> dict[str, Any]:
    return {"key": name, "value": {"stringValue": value}}


def export(
    metric: str,
    values: list[float],
    *,
    kind: str = "gauge",
    host: str = "n17",
    at: float | None = None,
    **more: Any,
) -> dict[str, Any]:
    """A request with one metric of a GPU, a value each second."""
    begin = time.time() if at is None else at
    points = [
        {
            "timeUnixNano": str(int((begin + second) * 1e9)),
            "asDouble": value,
            "attributes": [attribute("gpu.number", "0")],
        }
        for second, value in enumerate(values)
    ]
    data = {"name": metric, kind: {"dataPoints": points, **more}}
    return of_metric(data, host)


def of_metric(metric: dict[str, Any], host: str = "n17") -> dict[str, Any]:
    """A request with one metric."""
    resource = {"attributes": [attribute("host.name", host)]}
    return {"resourceMetrics": [{"resource": resource, "scopeMetrics": [{"metrics": [metric]}]}]}


def send(address: str, content: dict[str, Any], **parameters: str) -> httpx.Response:
    return httpx.post(f"{address}/v1/metrics", json=content, params=parameters, timeout=60)


def test_the_sdks_exporter_stores_each_point_once_by_host_and_gpu(
    server: tuple[ServerContext, str], run: str, stored: Stored
) -> None:
    address = f"{server[1]}/v1/metrics?project={run}&run={run}"
    subprocess.run([sys.executable, str(PROGRAM), address, "n17.cluster"], check=True, timeout=60)
    assert stored() == {
        "gpu_util (%){gpu=0,host=n17.cluster}": [6.25, 12.5, 18.75, 25.0, 31.25],
        "gpu_util (%){gpu=1,host=n17.cluster}": [6.25, 12.5, 18.75, 25.0, 31.25],
    }


def test_without_a_name_metrics_belong_to_the_active_runs(
    server: tuple[ServerContext, str], run: str, stored: Stored
) -> None:
    answer = send(server[1], export("gpu.dcgm.temperature", [61.0, 62.0]), project=run)
    assert (answer.status_code, answer.json()) == (200, {})
    assert stored() == {"gpu_temperature (C){gpu=0,host=n17}": [61.0, 62.0]}


def test_a_repeated_request_is_stored_once(
    server: tuple[ServerContext, str], run: str, stored: Stored
) -> None:
    content = export("gpu.dcgm.memory.bytes_used", [2.0**30])
    for _ in range(2):
        assert send(server[1], content, project=run, run=run).status_code == 200
    assert stored() == {"gpu_memory_used (MiB){gpu=0,host=n17}": [1024.0]}


def test_metrics_go_to_the_runs_on_their_hosts(
    server: tuple[ServerContext, str], run: str, stored: Stored
) -> None:
    config = {"slurm.nodes": "n1,n2"}
    columns = {"step": [3], "loss": [1.8]}
    body = {"project": run, "run": run, "columns": columns, "config": config}
    httpx.post(f"{server[1]}/api/v1/ingest", json=body, timeout=60).raise_for_status()
    for host, value in (("n2.cluster", 50.0), ("n3.cluster", 60.0)):
        send(server[1], export("gpu.dcgm.temperature", [value], host=host), project=run)
    assert stored() == {"gpu_temperature (C){gpu=0,host=n2.cluster}": [50.0]}


def test_samples_from_long_before_the_run_are_not_the_runs(
    server: tuple[ServerContext, str], run: str, stored: Stored
) -> None:
    send(server[1], export("gpu.dcgm.temperature", [50.0], at=time.time() - 7200), project=run)
    assert stored() == {}


def test_metrics_that_are_not_of_machines_are_ignored_unless_they_are_named_in_also(
    server: tuple[ServerContext, str], run: str, stored: Stored
) -> None:
    answer = send(server[1], export("http.server.duration", [1.0]), project=run, run=run)
    assert (answer.status_code, stored()) == (200, {})


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (
            export("gpu.dcgm.ecc_errors", [1.0, 2.0], kind="sum", aggregationTemporality=1),
            "gpu.dcgm.ecc_errors has delta temporality; send it cumulative",
        ),
        (
            of_metric({"name": "gpu.dcgm.temperature", "histogram": {"dataPoints": [{"count": "1"}] * 2}}),
            "gpu.dcgm.temperature is a histogram; only gauges and sums are stored",
        ),
    ],
)  # fmt: skip
def test_what_is_no_series_is_refused_with_its_reason(
    server: tuple[ServerContext, str], run: str, content: dict[str, Any], reason: str
) -> None:
    answer = send(server[1], content, project=run, run=run)
    assert answer.status_code == 200
    assert answer.json()["partialSuccess"] == {"rejectedDataPoints": "2", "errorMessage": reason}


def test_answers_have_the_type_of_the_request(server: tuple[ServerContext, str], run: str) -> None:
    request = ExportMetricsServiceRequest().SerializeToString()
    headers = {"content-type": PROTOBUF, "content-encoding": "gzip"}
    answer = httpx.post(
        f"{server[1]}/v1/metrics", content=gzip.compress(request), headers=headers, timeout=60
    )
    assert answer.headers["content-type"] == PROTOBUF
    assert ExportMetricsServiceResponse.FromString(answer.content) == ExportMetricsServiceResponse()


@pytest.mark.parametrize(
    ("content", "headers", "status", "words"),
    [
        (b"\xff\xff", {"content-type": PROTOBUF}, 400, "no ExportMetricsServiceRequest"),
        (b"{", {"content-type": JSON}, 400, "no ExportMetricsServiceRequest"),
        (b"x", {"content-type": JSON, "content-encoding": "gzip"}, 400, "not gzip"),
        (b"x", {"content-type": JSON, "content-encoding": "br"}, 415, "expected gzip"),
        (b"x", {"content-type": "text/plain"}, 415, "expected application/x-protobuf"),
        (EXPANDS, {"content-type": PROTOBUF, "content-encoding": "gzip"}, 413, "16 MiB"),
    ],
)  # fmt: skip
def test_bad_bodies_are_refused_in_words_and_not_to_be_sent_again(
    server: tuple[ServerContext, str], content: bytes, headers: dict[str, str], status: int, words: str
) -> None:
    answer = httpx.post(f"{server[1]}/v1/metrics", content=content, headers=headers, timeout=60)
    assert answer.status_code == status
    is_protobuf = status != 415 and headers["content-type"] == PROTOBUF
    assert words in (Status.FromString(answer.content).message if is_protobuf else answer.text)


@settings(max_examples=50, deadline=None)
@given(
    values=st.lists(st.floats(0, 1e6), min_size=1, max_size=20),
    gpus=st.lists(st.integers(0, 7), min_size=1, max_size=3, unique=True),
)
def test_every_point_of_any_request_is_parsed(values: list[float], gpus: list[int]) -> None:
    request = ExportMetricsServiceRequest()
    metric = request.resource_metrics.add().scope_metrics.add().metrics.add(name="gpu.dcgm.temperature")
    for second, value in enumerate(values):
        for gpu in gpus:
            point = metric.gauge.data_points.add(
                time_unix_nano=(1_700_000_000 + second) * 10**9, as_double=value
            )
            point.attributes.add(key="gpu.number").value.int_value = gpu
    found = parse_export(request.SerializeToString(), PROTOBUF, lambda _: False)
    assert [each.value for each in found.samples] == [value for value in values for _ in gpus]
    assert {dict(each.labels)["gpu"] for each in found.samples} == {str(gpu) for gpu in gpus}


@settings(max_examples=200, deadline=None)
@given(content=st.binary(max_size=200), content_type=st.sampled_from([PROTOBUF, JSON]))
def test_no_body_breaks_the_parser(content: bytes, content_type: str) -> None:
    with suppress(OtlpError):
        parse_export(content, content_type, lambda _: True)


def test_a_token_of_a_job_may_send_metrics() -> None:
    assert {("POST", "/v1/metrics"), ("POST", "/api/v1/write")} <= SCOPE_ROUTES[TokenScope.INGEST]
