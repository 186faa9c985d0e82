"""Processor time to decode and convert a request of 10,000 samples: OTLP, as protobuf and JSON; remote write.

`python benchmarks/machine_metrics.py`: medians of nine rounds, without the network and the database.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import cramjam
from google.protobuf.json_format import MessageToJson
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from holter.server.machine_metrics import otlp, remote_write
from holter.server.machine_metrics.protobuf_messages import WriteRequest
from holter.server.machine_metrics.samples import RequestSamples, batch_of_samples

GPUS, SAMPLES = 100, 100
ROUNDS = 9
BEGIN = 1_700_000_000


def main() -> None:
    """Print a line for each form."""
    export, write = export_request(), write_request()
    protobuf, text = export.SerializeToString(), MessageToJson(export).encode()
    forms: dict[str, Callable[[], RequestSamples]] = {
        "OTLP, protobuf": lambda: otlp.parse_export(protobuf, otlp.PROTOBUF, lambda _: False),
        "OTLP, JSON": lambda: otlp.parse_export(text, otlp.JSON, lambda _: False),
        "remote write": lambda: remote_write.parse_write_request(
            remote_write.decompress_snappy(write, 2**24, lambda _: None), lambda _: True
        ),
    }
    for name, parse in forms.items():
        seconds = []
        for _ in range(ROUNDS):
            begun = time.process_time()
            batch, _ = batch_of_samples(parse().samples)
            seconds.append(time.process_time() - begun)
        assert sum(len(column.values) for column in batch.columns) == GPUS * SAMPLES
        print(f"{name}: {1e6 * statistics.median(seconds) / (GPUS * SAMPLES):.1f} µs per sample")


def export_request() -> ExportMetricsServiceRequest:
    """Temperatures of GPUs, a point each second."""
    request = ExportMetricsServiceRequest()
    resource = request.resource_metrics.add()
    resource.resource.attributes.add(key="host.name").value.string_value = "n17"
    metric = resource.scope_metrics.add().metrics.add(name="gpu.dcgm.temperature")
    for second in range(SAMPLES):
        for gpu in range(GPUS):
            point = metric.gauge.data_points.add(
                time_unix_nano=(BEGIN + second) * 10**9, as_double=60.0 + gpu
            )
            point.attributes.add(key="gpu.number").value.int_value = gpu
    return request


def write_request() -> bytes:
    """The same as Prometheus sends it."""
    request = WriteRequest()
    for gpu in range(GPUS):
        series = request.timeseries.add()
        for name, value in (("__name__", "DCGM_FI_DEV_GPU_TEMP"), ("Hostname", "n17"), ("gpu", str(gpu))):
            series.labels.add(name=name, value=value)
        for second in range(SAMPLES):
            series.samples.add(value=60.0 + gpu, timestamp=(BEGIN + second) * 1000)
    return bytes(cramjam.snappy.compress_raw(request.SerializeToString()))


if __name__ == "__main__":
    main()
