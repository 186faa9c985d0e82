"""Pages of Prometheus exporters, as scraped: dcgm-exporter's, node_exporter's, AMD's and others'."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, ClassVar, NamedTuple
from zlib import crc32

from prometheus_client.parser import text_string_to_metric_families

from holter.ingest.communication.labels import labels_beside
from holter.ingest.format import Content, FormatRole
from holter.ingest.rows import LogRow
from holter.ingest.telemetry import gpu_metrics as q
from holter.ingest.telemetry.line_reader import LineReader
from holter.ingest.telemetry.metric_allowlist import is_chosen, named
from holter.ingest.telemetry.timestamped import SAMPLES, row_at
from holter.types import ConfigKey

_TELL = re.compile(
    rb"^# (?:TYPE|HELP) (?:DCGM_FI_|node_|gpu_|amd)\w+|^DCGM_FI_\w+\{|^node_\w+(?:\{| [0-9])",
    re.MULTILINE,
)
_EPOCH = re.compile(r"#?\s*(\d{10})(?:\.\d{1,9})?\s*")
_DATE = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d ")
_MOST_SEEN = 4096


class Exposition:
    """Scrapes that were saved one below the other; of exporters' metrics those that are chosen.

    The time of a scrape is its samples' own, or that of a line with a date or Unix seconds before it;
    where there is none, scrapes are counted: one begins where a sample comes again.
    """

    name: ClassVar[str] = "prometheus"
    role: ClassVar[FormatRole] = FormatRole(content=Content.OWN_STEPS)

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """Text with samples, or what announces them, of an exporter that watches machines."""
        return (
            b"\0" not in head
            and _TELL.search(head) is not None
            and not head.lstrip().startswith((b"{", b"<"))
        )

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> ExpositionReader:
        """A reader that goes on from `state`."""
        return ExpositionReader(path, {} if "rewritten" in state else state)


class ExpositionReader(LineReader):
    """Reads one growing file of scrapes."""

    expected = "a sample"

    def __init__(self, path: PurePath, state: Mapping[str, Any]) -> None:
        super().__init__(state)
        self._whose = q.host_of(path)
        self._moment: float = state.get("moment", float("nan"))
        self._seen: set[int] = set(state.get("seen", ()))
        self._scrape: int = state.get("scrape", 0)

    def own_state(self) -> Mapping[str, Any]:
        """The moment of the scrape, or which it is and which samples it has had."""
        if self._moment == self._moment:
            return {"moment": self._moment}
        return {"seen": sorted(self._seen), "scrape": self._scrape} if self._seen else {}

    def rows(self, line: str) -> Iterator[LogRow]:
        """The value of a sample; a moment, for the samples below."""
        if line.startswith("#") or line[:1].isdigit() or _DATE.search(line[:40]):
            moment = self._said(line)
            if moment == moment:
                self._moment = moment
            return
        if not line or line.isspace() or not is_chosen(metric_of(line)):
            return
        sample = sample_of(line)
        if sample is None:
            self.blame(f"expected a sample of Prometheus' text format, found {line[:80]!r}")
            return
        if sample.metric is None:
            return
        for key, value in sample.about:
            self.state_that(q.about(key.name, {**self._whose, **dict(key.labels)}), value)
        labels = {**self._whose, **sample.labels}
        values = {sample.metric: sample.value}
        row = row_at(self._moment if sample.moment is None else sample.moment, values, **labels)
        yield self._numbered(sample, labels) if row is None else row

    def _said(self, line: str) -> float:
        if line.startswith(("# HELP", "# TYPE")):
            return float("nan")
        found = _EPOCH.fullmatch(line)
        return float(line.strip("# \t")) if found else self.clock.read(line[:200])

    def _numbered(self, sample: Sample, labels: Mapping[str, str]) -> LogRow:
        """The row of a sample without any clock, by the number of its scrape."""
        mark = crc32(f"{sample.metric} {sorted(labels.items())}".encode())
        if mark in self._seen:
            self._seen.clear()
            self._scrape += 1
        if len(self._seen) < _MOST_SEEN:
            self._seen.add(mark)
        return LogRow(
            self._scrape, float("nan"), {str(sample.metric): sample.value}, labels_beside(SAMPLES, **labels)
        )


class Sample(NamedTuple):
    """A sample by our names; `metric` is None where it says that there is no value. `moment` in seconds."""

    metric: str | None
    labels: Mapping[str, str]
    value: float
    moment: float | None
    about: tuple[tuple[ConfigKey, str], ...]


def sample_of(line: str) -> Sample | None:
    """What a line of an exposition says; None where it is none."""
    try:
        found = next(iter(text_string_to_metric_families(line + "\n"))).samples[0]
        value, stamp = float(found.value), found.timestamp
        moment = None if stamp is None else float(stamp)
    except (ValueError, OverflowError, StopIteration, IndexError, KeyError, TypeError):
        return None
    metric, labels, about = named(found.name, tuple(sorted(found.labels.items())))
    return Sample(None if is_blank(value) else metric, labels, value, moment, about)


def is_blank(value: float) -> bool:
    """Whether DCGM says with a value that there is none (dcgm_structs.h: DCGM_INT64_BLANK, DCGM_FP64_BLANK).

    Sentinels stand just below 2**63 and at 2**47; those of 32 bits at 2**31 - 16.
    """
    return value >= 2.0**62 or 2.0**47 <= value < 2.0**47 + 16 or 2.0**31 - 16 <= value < 2.0**31 - 12


def metric_of(line: str) -> str:
    """The name of a line's metric."""
    return line.partition("{")[0].partition(" ")[0].partition("\t")[0]
