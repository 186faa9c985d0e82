"""Names of OpenTelemetry's metrics of GPUs and hosts, and what Holter calls them."""

from __future__ import annotations

from typing import NamedTuple

from holter.ingest.telemetry import gpu_metrics as metrics

_MIB = 1 / 2**20
_MEGA = 1e-6


class OtelMetric(NamedTuple):
    """Holter's name of a metric, and the factor to its unit. `only`: an attribute with its only value."""

    name: str
    factor: float = 1.0
    only: tuple[str, str] | None = None


OTEL_METRICS: dict[str, OtelMetric] = {
    # the collector's dcgmreceiver
    "gpu.dcgm.utilization": OtelMetric(metrics.UTIL, 100),
    "gpu.dcgm.sm.utilization": OtelMetric("gpu_sm_active"),
    "gpu.dcgm.pipe.utilization": OtelMetric(metrics.TENSOR_ACTIVE, only=("gpu.pipe", "tensor")),
    "gpu.dcgm.memory.bandwidth_utilization": OtelMetric("gpu_dram_active"),
    "gpu.dcgm.memory.bytes_used": OtelMetric(metrics.MEMORY_USED, _MIB, only=("gpu.memory.state", "used")),
    "gpu.dcgm.temperature": OtelMetric(metrics.TEMPERATURE),
    "gpu.dcgm.clock.frequency": OtelMetric(metrics.SM_CLOCK, _MEGA),
    "gpu.dcgm.energy_consumption": OtelMetric("gpu_energy (J)"),
    "gpu.dcgm.ecc_errors": OtelMetric("gpu_ecc_errors"),
    "gpu.dcgm.xid_errors": OtelMetric("gpu_xid_errors"),
    "gpu.dcgm.nvlink.traffic": OtelMetric("gpu_nvlink_traffic (B)"),
    "gpu.dcgm.pcie.traffic": OtelMetric("gpu_pcie_traffic (B)"),
    # the collector's nvmlreceiver
    "nvml.gpu.utilization": OtelMetric(metrics.UTIL, 100),
    "nvml.gpu.memory.bytes_used": OtelMetric(metrics.MEMORY_USED, _MIB, only=("memory_state", "used")),
    # semantic conventions of hardware
    "hw.gpu.utilization": OtelMetric(metrics.UTIL, 100),
    "hw.gpu.memory.utilization": OtelMetric("gpu_memory_used (%)", 100),
    "hw.gpu.memory.usage": OtelMetric(metrics.MEMORY_USED, _MIB),
    # the collector's hostmetrics
    "system.cpu.load_average.1m": OtelMetric("node_load1"),
    "system.memory.usage": OtelMetric("system.memory.usage"),
    "system.memory.utilization": OtelMetric("system.memory.utilization"),
    "system.network.io": OtelMetric("system.network.io"),
    "system.network.errors": OtelMetric("system.network.errors"),
    "system.paging.usage": OtelMetric("system.paging.usage"),
    "system.processes.count": OtelMetric("system.processes.count"),
}
"""By OpenTelemetry's name."""
GPU_ATTRIBUTES = ("gpu.number", "gpu_number", "hw.id", "gpu.uuid", "uuid")
"""Attributes that distinguish the GPUs of a host; the first one that is there becomes the label `gpu`."""
MODEL_ATTRIBUTES = ("gpu.model", "model", "hw.model")
HOST_ATTRIBUTES = ("host.name", "k8s.node.name", "server.address", "service.instance.id", "host.id")
"""Attributes of a resource that name its host, the best first."""
IDENTITY = frozenset({*GPU_ATTRIBUTES, *MODEL_ATTRIBUTES, "hw.name", "hw.type", "hw.parent"})
"""Attributes that are no labels: they are in the label `gpu`, or constant for it."""
