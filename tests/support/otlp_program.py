"""Sends metrics with OpenTelemetry's SDK in a process of its own: `otlp_program ADDRESS HOST [TOKEN]`."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource

COLLECTIONS = 5


def main(address: str, host: str, token: str = "") -> None:
    """Export the utilisation of two GPUs five times: 6.25, 12.5, 18.75, 25 and 31.25 %."""
    exporter = OTLPMetricExporter(
        endpoint=address,
        compression=Compression.Gzip,
        headers={"authorization": f"Bearer {token}"} if token else {},
    )
    reader = PeriodicExportingMetricReader(exporter, export_interval_millis=3_600_000)
    provider = MeterProvider(resource=Resource.create({"host.name": host}), metric_readers=[reader])
    collected = 0

    def measure(options: CallbackOptions) -> Iterable[Observation]:
        nonlocal collected
        collected += 1
        share = collected / 16
        return [Observation(share, {"gpu.number": gpu, "gpu.model": "NVIDIA H100"}) for gpu in range(2)]

    meter = provider.get_meter("test")
    meter.create_observable_gauge("gpu.dcgm.utilization", [measure], unit="1")
    meter.create_counter("requests.of.something.else").add(3)
    for _ in range(COLLECTIONS - 1):
        provider.force_flush()
    provider.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
