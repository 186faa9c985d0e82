"""OTLP/HTTP: an ExportMetricsServiceRequest as protobuf or JSON, and the answers to it.

https://opentelemetry.io/docs/specs/otlp/#otlphttp
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from google.protobuf.json_format import MessageToDict, Parse, ParseError
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality, DataPointFlags

from holter.ingest.telemetry.gpu_metrics import device_setting
from holter.server.machine_metrics.otel_names import (
    GPU_ATTRIBUTES,
    HOST_ATTRIBUTES,
    IDENTITY,
    MODEL_ATTRIBUTES,
    OTEL_METRICS,
)
from holter.server.machine_metrics.protobuf_messages import Status
from holter.server.machine_metrics.samples import (
    MAX_SAMPLES,
    MachineSample,
    RequestSamples,
    TooManySamplesError,
    host_of_address,
    is_number,
    prometheus_series,
)
from holter.types import ConfigKey, Labels

JSON, PROTOBUF = "application/json", "application/x-protobuf"
_DELTA = AggregationTemporality.AGGREGATION_TEMPORALITY_DELTA
_NO_VALUE = DataPointFlags.DATA_POINT_FLAGS_NO_RECORDED_VALUE_MASK
_INVALID_ARGUMENT = 3
"""google.rpc.Code of a request that is wrong however often it is sent."""


class OtlpError(ValueError):
    """A body is no ExportMetricsServiceRequest."""


def parse_export(content: bytes, content_type: str, allowed: Callable[[str], bool]) -> RequestSamples:
    """The samples of the metrics that are known or allowed. Raises OtlpError and TooManySamplesError.

    Histograms and sums of delta temporality are refused: the first are no series, the second look like a
    counter that falls.
    """
    request = ExportMetricsServiceRequest()
    try:
        if content_type == JSON:
            Parse(content, request, ignore_unknown_fields=True)
        else:
            request.ParseFromString(content)
    except (ParseError, DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise OtlpError(f"the body is no ExportMetricsServiceRequest: {error}") from error
    refused: Counter[str] = Counter()
    samples: list[MachineSample] = []
    for resource in request.resource_metrics:
        attributes = _values(resource.resource.attributes)
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                if metric.name not in OTEL_METRICS and not allowed(metric.name):
                    continue
                samples += _samples_of(metric, attributes, refused)
                if len(samples) > MAX_SAMPLES:
                    raise TooManySamplesError
    return RequestSamples(samples, refused)


def _samples_of(metric: Any, resource: Mapping[str, str], refused: Counter[str]) -> Iterator[MachineSample]:
    kind = metric.WhichOneof("data")
    if kind not in ("gauge", "sum"):
        points = getattr(metric, kind).data_points if kind else ()
        refused[f"{metric.name} is a {kind or 'metric without data'}; only gauges and sums are stored"] += (
            len(points)
        )
        return
    data = getattr(metric, kind)
    if kind == "sum" and data.aggregation_temporality == _DELTA:
        refused[f"{metric.name} has delta temporality; send it cumulative"] += len(data.data_points)
        return
    known = OTEL_METRICS.get(metric.name)
    for point in data.data_points:
        value = float(point.as_double if point.HasField("as_double") else point.as_int)
        if point.flags & _NO_VALUE or not is_number(value):
            continue
        time = point.time_unix_nano / 1e9
        attributes = _values(point.attributes)
        if known is None:
            given = {**_scraped(resource), **attributes}
            name, labels, host, settings = prometheus_series(metric.name, tuple(sorted(given.items())))
            yield MachineSample(name, labels, host, time, value, settings)
            continue
        if known.only is not None:
            attribute, wanted = known.only
            if attributes.pop(attribute, wanted) != wanted:
                continue
        labels, host, settings = _series(attributes, resource)
        yield MachineSample(known.name, labels, host, time, value * known.factor, settings)


def _series(
    attributes: Mapping[str, str], resource: Mapping[str, str]
) -> tuple[Labels, str, tuple[tuple[ConfigKey, str], ...]]:
    """Labels, host and settings of a series by the attributes of its points and of its resource."""
    host = _host(resource)
    both = {**resource, **attributes}
    gpu = next((both[name] for name in GPU_ATTRIBUTES if both.get(name)), "")
    device = {name: value for name, value in (("gpu", gpu), ("host", host)) if value}
    own = {name: value for name, value in attributes.items() if name not in IDENTITY and value}
    model = next((both[name] for name in MODEL_ATTRIBUTES if both.get(name)), "") if gpu else ""
    settings = ((device_setting("gpu.name", device), model[:200]),) if model else ()
    return tuple(sorted({**own, **device}.items())), host, settings


def _host(resource: Mapping[str, str]) -> str:
    return next((host_of_address(resource[name]) for name in HOST_ATTRIBUTES if resource.get(name)), "")


def _scraped(resource: Mapping[str, str]) -> dict[str, str]:
    """The label of the host for metrics that the collector scraped from an exporter."""
    host = _host(resource)
    return {"instance": host} if host else {}


def _values(attributes: Sequence[Any]) -> dict[str, str]:
    """Attributes whose values are texts, numbers or flags."""
    values = {}
    for attribute in attributes:
        kind = attribute.value.WhichOneof("value")
        if kind in ("string_value", "int_value", "double_value", "bool_value"):
            values[attribute.key] = str(getattr(attribute.value, kind))
    return values


def export_response(content_type: str, refused: Mapping[str, int]) -> bytes:
    """The answer to a request that was stored, with how many points were refused and why."""
    response = ExportMetricsServiceResponse()
    if refused:
        response.partial_success.rejected_data_points = sum(refused.values())
        response.partial_success.error_message = "; ".join(refused)[:1000]
    if content_type == JSON:
        return json.dumps(MessageToDict(response)).encode()
    return bytes(response.SerializeToString())


def error_body(content_type: str, message: str) -> bytes:
    """The body of an error, a google.rpc.Status."""
    if content_type == JSON:
        return json.dumps({"code": _INVALID_ARGUMENT, "message": message}).encode()
    return bytes(Status(code=_INVALID_ARGUMENT, message=message).SerializeToString())
