"""Samples of machines' metrics under Holter's names, and their conversion to batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from math import isfinite
from typing import NamedTuple

from holter.ingest.rows import LogRow, batch_from_rows
from holter.ingest.telemetry.metric_allowlist import standard_names
from holter.ingest.telemetry.prometheus import is_blank
from holter.ingest.telemetry.timestamped import clock_row
from holter.types import Batch, ConfigKey, ConfigValue, Labels

MAX_SERIES = 4096
"""Series of one request for one run; more are left out, and counted."""
MAX_SAMPLES = 500_000
"""Samples of one request."""
_OF_THE_SCRAPE = frozenset(
    {"__name__", "__replica__", "cluster", "container", "endpoint", "instance", "job", "namespace", "pod"}
    | {"prometheus", "prometheus_replica", "service", "telemetry.sdk.language", "uid"}
)
"""Labels that say how a sample was collected, not what it measures."""


class TooManySamplesError(ValueError):
    """A request has more samples than are read."""

    def __init__(self) -> None:
        super().__init__(f"expected at most {MAX_SAMPLES:,} samples in a request: send smaller ones")


class MachineSample(NamedTuple):
    """A sample under Holter's names. `time` is in Unix seconds, `host` empty where none is stated.

    `settings` are those of the device that the labels state.
    """

    metric: str
    labels: Labels
    host: str
    time: float
    value: float
    settings: tuple[tuple[ConfigKey, str], ...] = ()


class RequestSamples(NamedTuple):
    """What a request has brought: `samples`, and by reason how many are not stored."""

    samples: Sequence[MachineSample]
    refused: Mapping[str, int]


@lru_cache(maxsize=65_536)  # every request has the same series
def prometheus_series(
    name: str, labels: Labels
) -> tuple[str, Labels, str, tuple[tuple[ConfigKey, str], ...]]:
    """Metric, labels, host and settings of a series by Prometheus' name and labels.

    The host is what the exporter states, or else the address that was scraped, without its port.
    """
    given = dict(labels)
    instance = host_of_address(given.get("instance", ""))
    measured = tuple((label, value) for label, value in labels if label not in _OF_THE_SCRAPE and value)
    metric, own, settings = standard_names(name, measured)
    stated = {"host": instance, **own} if instance else dict(own)
    host = str(stated.get("host", ""))
    with_host = tuple((_with_host(key, host), value) for key, value in settings)
    return metric, tuple(sorted((label, str(value)) for label, value in stated.items())), host, with_host


def _with_host(key: ConfigKey, host: str) -> ConfigKey:
    return ConfigKey(
        key.name, tuple(sorted({**({"host": host} if host else {}), **dict(key.labels)}.items()))
    )


def host_of_address(address: str) -> str:
    """The host of `host:port`, `[address]:port` or a host."""
    if address.startswith("["):
        return address[1:].partition("]")[0]
    host, colon, port = address.rpartition(":")
    return host if colon and port.isdigit() and ":" not in host else address


def is_number(value: float) -> bool:
    """Whether a sample has a value: a stale marker is NaN, and DCGM has values of its own for none."""
    return isfinite(value) and not is_blank(value)


def batch_of_samples(samples: Iterable[MachineSample]) -> tuple[Batch, int]:
    """The samples as a batch, and how many are left out, since their time is none or series are too many."""
    rows: dict[tuple[float, Labels], dict[str, float]] = {}
    config: dict[ConfigKey, ConfigValue] = {}
    series: set[tuple[str, Labels]] = set()
    left_out = 0
    for sample in samples:
        key = sample.metric, sample.labels
        if key not in series and len(series) >= MAX_SERIES:
            left_out += 1
            continue
        series.add(key)
        rows.setdefault((sample.time, sample.labels), {})[sample.metric] = sample.value
        config.update(sample.settings)
    log_rows: list[LogRow] = []
    for (time, labels), values in rows.items():
        row = clock_row(time, values, **dict(labels))
        if row is None:
            left_out += len(values)
        else:
            log_rows.append(row)
    log_rows.sort(key=lambda row: row.step)
    return replace(batch_from_rows(log_rows), config=config), left_out
