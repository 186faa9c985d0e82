"""Saved scrapes of Prometheus exporters such as dcgm-exporter, node_exporter and AMD's."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, ClassVar, NamedTuple
from zlib import crc32

from prometheus_client.parser import text_string_to_metric_families

from holter.ingest.communication.labels import series_labels
from holter.ingest.format import Content, FormatRole
from holter.ingest.rows import LogRow
from holter.ingest.telemetry import gpu_metrics as metrics
from holter.ingest.telemetry.line_reader import LineReader
from holter.ingest.telemetry.metric_allowlist import is_allowed, standard_names
from holter.ingest.telemetry.timestamped import SAMPLES, clock_row
from holter.types import ConfigKey

_EXPORTER_LINE = re.compile(
    rb"^# (?:TYPE|HELP) (?:DCGM_FI_|node_|gpu_|amd)\w+|^DCGM_FI_\w+\{|^node_\w+(?:\{| [0-9])",
    re.MULTILINE,
)
_EPOCH = re.compile(r"#?\s*(\d{10})(?:\.\d{1,9})?\s*")
_DATE = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d ")
_MAX_SEEN_SAMPLES = 4096


class PrometheusText:
    """Scrapes in Prometheus' text format, one after another; only the metrics of the allowlist are read.

    The time of a scrape is that of its samples, or of a line with a date or Unix seconds above it. Without
    either, scrapes are counted: a new one begins where a sample is repeated.
    """

    name: ClassVar[str] = "prometheus"
    role: ClassVar[FormatRole] = FormatRole(content=Content.OWN_STEPS)

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """Samples, or their TYPE or HELP lines, of an exporter that monitors machines."""
        return (
            b"\0" not in head
            and _EXPORTER_LINE.search(head) is not None
            and not head.lstrip().startswith((b"{", b"<"))
        )

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> PrometheusTextReader:
        """A reader that resumes from `state`."""
        return PrometheusTextReader(path, {} if "rewritten" in state else state)


class PrometheusTextReader(LineReader):
    """Reads one file of scrapes that is being written."""

    expected = "a sample"

    def __init__(self, path: PurePath, state: Mapping[str, Any]) -> None:
        super().__init__(state)
        self._path_labels = metrics.labels_from_path(path)
        self._time: float = state.get("moment", math.nan)
        self._seen: set[int] = set(state.get("seen", ()))
        self._scrape: int = state.get("scrape", 0)

    def own_state(self) -> Mapping[str, Any]:
        """The time of the scrape, or else its number and hashes of its samples so far."""
        if not math.isnan(self._time):
            return {"moment": self._time}
        return {"seen": sorted(self._seen), "scrape": self._scrape} if self._seen else {}

    def rows(self, line: str) -> Iterator[LogRow]:
        """The row of a sample. A time has no row, and holds for the samples below it."""
        if line.startswith("#") or line[:1].isdigit() or _DATE.search(line[:40]):
            time = self._parse_time(line)
            if not math.isnan(time):
                self._time = time
            return
        if not line or line.isspace() or not is_allowed(metric_name(line)):
            return
        sample = parse_sample(line)
        if sample is None:
            self.report(f"expected a sample of Prometheus' text format, found {line[:80]!r}")
            return
        if sample.metric is None:
            return
        for key, value in sample.settings:
            self.add_setting(
                metrics.device_setting(key.name, {**self._path_labels, **dict(key.labels)}), value
            )
        labels = {**self._path_labels, **sample.labels}
        values = {sample.metric: sample.value}
        row = clock_row(self._time if sample.time is None else sample.time, values, **labels)
        yield self._numbered(sample, labels) if row is None else row

    def _parse_time(self, line: str) -> float:
        if line.startswith(("# HELP", "# TYPE")):
            return math.nan
        is_epoch = _EPOCH.fullmatch(line) is not None
        return float(line.strip("# \t")) if is_epoch else self.timestamps.parse(line[:200])

    def _numbered(self, sample: PrometheusSample, labels: Mapping[str, str]) -> LogRow:
        """The row of a sample without a time; the step is the number of its scrape."""
        sample_hash = crc32(f"{sample.metric} {sorted(labels.items())}".encode())
        if sample_hash in self._seen:
            self._seen.clear()
            self._scrape += 1
        if len(self._seen) < _MAX_SEEN_SAMPLES:
            self._seen.add(sample_hash)
        return LogRow(
            self._scrape, float("nan"), {str(sample.metric): sample.value}, series_labels(SAMPLES, **labels)
        )


class PrometheusSample(NamedTuple):
    """A sample by Holter's names, and the settings that its labels state.

    `metric` is None if the value means that there is none; `time` is in Unix seconds.
    """

    metric: str | None
    labels: Mapping[str, str]
    value: float
    time: float | None
    settings: tuple[tuple[ConfigKey, str], ...]


def parse_sample(line: str) -> PrometheusSample | None:
    """The sample of a line in Prometheus' text format; None if it cannot be parsed."""
    try:
        sample = next(iter(text_string_to_metric_families(line + "\n"))).samples[0]
        value, timestamp = float(sample.value), sample.timestamp
        time = None if timestamp is None else float(timestamp)
    except (ValueError, OverflowError, StopIteration, IndexError, KeyError, TypeError):
        return None
    metric, labels, settings = standard_names(sample.name, tuple(sorted(sample.labels.items())))
    return PrometheusSample(None if is_blank(value) else metric, labels, value, time, settings)


def is_blank(value: float) -> bool:
    """Whether a value is one of DCGM's sentinels for "no value".

    They are just below 2**63, at 2**47, and for 32 bits at 2**31 - 16 (dcgm_structs.h: DCGM_INT64_BLANK,
    DCGM_FP64_BLANK, DCGM_INT32_BLANK).
    """
    return value >= 2.0**62 or 2.0**47 <= value < 2.0**47 + 16 or 2.0**31 - 16 <= value < 2.0**31 - 12


def metric_name(line: str) -> str:
    """The name of a line's metric."""
    return line.partition("{")[0].partition(" ")[0].partition("\t")[0]
