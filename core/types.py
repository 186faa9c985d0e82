"""The vocabulary of Holter as types: series, batches, findings. Everything else speaks in these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

Labels = tuple[tuple[str, str], ...]
"""Label names and values, sorted by name."""


def labels_of(mapping: Mapping[str, object]) -> Labels:
    """Labels in their one canonical order, so that equal labels are equal tuples."""
    return tuple(sorted((str(name), str(value)) for name, value in mapping.items()))


CLOCK_STEPS = "milliseconds"
"""The value of a label `steps` where these are wall times: milliseconds since 1970."""


class SeriesKey(NamedTuple):
    """Names one series within a run, e.g. `loss` or `step_time{rank=3}`."""

    metric: str
    labels: Labels = ()

    @property
    def step_unit(self) -> str | None:
        """What its steps count where they are none of training ("message bytes"): its label `steps`.

        Such a series stands beside a run's curves: it tells neither how far the run is nor of restarts.
        """
        return next((value for name, value in self.labels if name == "steps"), None)

    @property
    def has_clock_steps(self) -> bool:
        """Whether its steps are wall times, as those of what watches machines are."""
        return self.step_unit == CLOCK_STEPS

    def __str__(self) -> str:
        inside = ",".join(f"{name}={value}" for name, value in self.labels)
        return f"{self.metric}{{{inside}}}" if inside else self.metric


ConfigValue = str | int | float | bool
"""What a setting of a run can be."""


class ConfigKey(NamedTuple):
    """Names one setting of a run, e.g. `num_layers`, or `nccl.net{rank=3}` where processes may differ."""

    name: str
    labels: Labels = ()

    def __str__(self) -> str:
        return str(SeriesKey(*self))


Config = Mapping[ConfigKey, ConfigValue]
"""What a log says of a launch besides its points: the model's shape, the hardware, the environment."""

NO_CONFIG: Config = MappingProxyType({})


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Column:
    """One series' share of a batch: `values[i]` was logged at row `rows[i]` of the batch.

    `rows` is None when the series has a value at every row. A row without a value is absent, which is
    not the same as a NaN that was logged.
    """

    key: SeriesKey
    values: FloatArray
    rows: IntArray | None = None


class SeriesLayout:
    """Which series stand side by side in batches: made once, shared by all batches that have the same.

    Equal to itself alone, so that what is found out about a shape can be kept for it.
    """

    __slots__ = ("__weakref__", "index", "keys")

    def __init__(self, keys: Iterable[SeriesKey]) -> None:
        self.keys = tuple(keys)
        self.index = {key: place for place, key in enumerate(self.keys)}


class DenseColumns(Sequence[Column]):
    """The columns of a shape, each with a value at every row: `values` [c, n], a series after the other."""

    __slots__ = ("layout", "values")

    def __init__(self, layout: SeriesLayout, values: FloatArray) -> None:
        if values.ndim != 2 or len(values) != len(layout.keys):
            raise ValueError(f"values {values.shape}, expected one row for each of {len(layout.keys)} series")
        self.layout = layout
        self.values = values

    def __len__(self) -> int:
        return len(self.layout.keys)

    @overload
    def __getitem__(self, place: int) -> Column: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Column]: ...
    def __getitem__(self, place: int | slice) -> Column | Sequence[Column]:
        if isinstance(place, slice):
            return tuple(self)[place]
        return Column(key=self.layout.keys[place], values=self.values[place])


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Batch:
    """Columns of several series over shared rows, in the order in which they were logged.

    `steps` [n] int64; `times` [n] float64, Unix seconds, NaN where the log has no clock.
    `attempt` is the launch as the log itself names it ("0", a job id), None where it does not.
    `restarts` says that the log marks a new launch at the first row (TensorBoard's SessionLog.START); without
    rows, that `config` is said in the place of what its writer, who has no rows at all, has said before.
    `config` is what the log says before the first row, of the launch which that row belongs to; in a batch
    without rows that tell anything of launches, of the one to which its writer's next such row will belong.
    """

    steps: IntArray
    times: FloatArray
    columns: Sequence[Column]
    attempt: str | None = None
    restarts: bool = False
    config: Config = field(default_factory=lambda: NO_CONFIG)

    @property
    def points(self) -> int:
        """How many values the batch holds."""
        if isinstance(self.columns, DenseColumns):
            return self.columns.values.size
        return sum(len(column.values) for column in self.columns)

    def cut(self, start: int, stop: int) -> Batch:
        """Rows [start, stop); the batch itself where that is all of it. `rows` of each column ascend."""
        if start == 0 and stop == len(self.steps):
            return self
        return replace(
            self,
            steps=self.steps[start:stop],
            times=self.times[start:stop],
            columns=_cut(self.columns, start, stop),
            restarts=self.restarts and start == 0,
            config=self.config if start == 0 else NO_CONFIG,
        )


def _cut(columns: Sequence[Column], start: int, stop: int) -> Sequence[Column]:
    if isinstance(columns, DenseColumns):
        return DenseColumns(columns.layout, columns.values[:, start:stop])
    pieces = []
    for column in columns:
        if column.rows is None:
            pieces.append(Column(key=column.key, values=column.values[start:stop]))
            continue
        first, last = np.searchsorted(column.rows, (start, stop))
        if first < last:
            rows = column.rows[first:last] - start
            pieces.append(Column(key=column.key, values=column.values[first:last], rows=rows))
    return tuple(pieces)


@dataclass(frozen=True, kw_only=True, slots=True)
class Unreadable:
    """A location in a log that could not be read, and the reason.

    `location` is written for people: "line 12", "byte 3040". A reader states these two alone; whoever reads a
    source adds its name, as cursors have it, and the project and run that it belongs to (None: not known).
    """

    location: str
    reason: str
    source: str = ""
    project: str | None = None
    run: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Cursor:
    """How far a source has been read, and with what: enough to go on after a restart, exactly.

    `source` names the file; `offset` is the byte after the last accepted record; `state` is the
    reader's own memory as JSON-able values; `identity` tells a rewritten or replaced file from a grown one.
    """

    source: str
    format: str
    offset: int
    identity: str
    state: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Delivery:
    """A batch on its way into the store, with whose it is and how to recognise it when it comes again.

    `batch_id` is the idempotency key within the run: a second delivery of it changes nothing.
    `writer` identifies the process or file that logged it. `cursor` is stored in the same transaction.
    `finished`: with these points, or without any, the run has come to its end.
    """

    project: str
    run: str
    writer: str
    batch_id: str
    batch: Batch
    cursor: Cursor | None = None
    finished: bool = False


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Series:
    """All points of one series, by attempt, then step, then time. Arrays share the length [n].

    Within an attempt a step stands once: the newest write of it.
    """

    key: SeriesKey
    attempt: IntArray
    step: IntArray
    time: FloatArray
    value: FloatArray

    def __len__(self) -> int:
        return len(self.step)


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class RunData:
    """What detectors look at: every series of one run, up to some moment.

    `now` (Unix seconds) is when the run is looked at, None when it is over: only `stall` asks.
    `config` is what its logs say of its launches, by attempt: the newest word of each.
    """

    series: Mapping[SeriesKey, Series]
    now: float | None = None
    config: Mapping[ConfigKey, Mapping[int, ConfigValue]] = field(default_factory=dict)

    def named(self, metrics: Iterable[str]) -> list[Series]:
        """The series of these metrics, in the order of their keys."""
        wanted = set(metrics)
        return [self.series[key] for key in sorted(self.series) if key.metric in wanted]


class Severity(StrEnum):
    """How much a finding matters, in ascending order."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """The position in the order of severity, from 0; the higher, the more severe."""
        return list(Severity).index(self)

    @property
    def label(self) -> str:
        """The severity for people."""
        return self.value.capitalize()


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnostic:
    """What is amiss with how a launch is set up, or with the numbers it reports: at no step in particular.

    `code` names the kind of remark for good, e.g. "nccl-sockets"; `evidence` holds what it rests on, as
    JSON-able values.
    """

    code: str
    attempt: int
    severity: Severity
    summary: str
    advice: str
    labels: Labels = ()
    evidence: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The remark in the words of the contract (docs/findings.md)."""
        return {
            "code": self.code,
            "attempt": self.attempt,
            "labels": _json_labels(self.labels),
            "severity": self.severity.value,
            "summary": self.summary,
            "advice": self.advice,
            "evidence": dict(self.evidence),
        }


def _json_labels(labels: Labels) -> dict[str, int | str]:
    return {name: int(value) if value.isdecimal() else value for name, value in labels}


class Kind(StrEnum):
    """What a finding can say. The words are part of the findings contract."""

    SPIKE_FAST = "spike_fast"
    SPIKE_SLOW = "spike_slow"
    SPIKE_UNRECOVERED = "spike_unrecovered"
    DIVERGENCE = "divergence"
    NONFINITE = "nonfinite"
    RESUME_ARTIFACT = "resume_artifact"
    REPEATED_DATA = "repeated_data"
    THROUGHPUT_REGRESSION = "throughput_regression"
    STRAGGLER = "straggler"
    COMM_SLOWDOWN = "comm_slowdown"
    DESYNC = "desync"
    STALL = "stall"
    LOSS_SCALE_COLLAPSE = "loss_scale_collapse"
    MIXTURE_SHIFT = "mixture_shift"
    SUDDEN_DROP = "sudden_drop"
    OUTLIER_BATCH = "outlier_batch"
    HIDDEN_NONFINITE = "hidden_nonfinite"
    MEMORY_LEAK = "memory_leak"
    GPU_FAULT = "gpu_fault"
    AGENT_SILENT = "agent_silent"


def reference_to(kind: Kind, *, metric: str, labels: Labels, attempt: int, start_step: int) -> dict[str, Any]:
    """A reference to another finding, as JSON-able evidence."""
    return {
        "kind": kind.value,
        "metric": str(metric),
        "labels": _json_labels(labels),
        "attempt": attempt,
        "start_step": start_step,
    }


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """What a detector says about the data it saw. A value: it has no identity and no life.

    Steps are those the log uses. `end_step` is None while it lasts; `detected_step` is the last step the
    detector had seen when it first spoke, `classified_step` when it settled on this kind (None: not yet).
    `evidence` holds the numbers it rests on, as JSON-able values.
    """

    kind: Kind
    metric: str
    attempt: int
    start_step: int
    detected_step: int
    severity: Severity
    confidence: float
    summary: str
    advice: str
    labels: Labels = ()
    peak_step: int | None = None
    end_step: int | None = None
    classified_step: int | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)

    def as_reference(self) -> dict[str, Any]:
        """A reference to this finding for the evidence of another one, as JSON-able values."""
        return reference_to(
            self.kind,
            metric=self.metric,
            labels=self.labels,
            attempt=self.attempt,
            start_step=self.start_step,
        )

    def as_json(self) -> dict[str, Any]:
        """The finding as the findings contract states it (docs/findings.md)."""
        return {
            "kind": self.kind.value,
            "metric": self.metric,
            "labels": _json_labels(self.labels),
            "attempt": self.attempt,
            "start_step": self.start_step,
            "peak_step": self.peak_step,
            "end_step": self.end_step,
            "detected_step": self.detected_step,
            "classified_step": self.classified_step,
            "severity": self.severity.value,
            "confidence": round(self.confidence, 3),
            "summary": self.summary,
            "advice": self.advice,
            "evidence": dict(self.evidence),
        }
