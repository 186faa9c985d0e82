"""The types that all parts of Holter share: series, batches, cursors, findings."""

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
    """Labels in canonical order, so that equal labels are equal tuples."""
    return tuple(sorted((str(name), str(value)) for name, value in mapping.items()))


def label_of(labels: Labels, name: str) -> str | None:
    """The value of the label of this name; None without it."""
    for label, value in labels:
        if label == name:
            return value
    return None


CLOCK_STEPS = "milliseconds"
"""The value of the label `steps` of a series whose steps are wall times: milliseconds since 1970."""


class SeriesKey(NamedTuple):
    """The name of one series within a run, e.g. `loss` or `step_time{rank=3}`."""

    metric: str
    labels: Labels = ()

    def label(self, name: str) -> str | None:
        """The value of a label; None without it."""
        return label_of(self.labels, name)

    @property
    def rank(self) -> str | None:
        """The rank that logs the series; None for a series of the run as such."""
        return self.label("rank")

    @property
    def step_unit(self) -> str | None:
        """What the steps count where they are not training steps ("message bytes"): the label `steps`.

        Such a series states neither how far a run is nor when it restarted.
        """
        return self.label("steps")

    @property
    def has_clock_steps(self) -> bool:
        """Whether the steps are wall times, as in the series of hardware monitors."""
        return self.step_unit == CLOCK_STEPS

    def __str__(self) -> str:
        inside = ",".join(f"{name}={value}" for name, value in self.labels)
        return f"{self.metric}{{{inside}}}" if inside else self.metric


ConfigValue = str | int | float | bool
"""The value of a setting of a run."""


class ConfigKey(NamedTuple):
    """The name of one setting of a run, such as `num_layers`, or `nccl.net{rank=3}` of one process."""

    name: str
    labels: Labels = ()

    @property
    def rank(self) -> str | None:
        """The rank that states the setting; None for a setting of the run as such."""
        return label_of(self.labels, "rank")

    def __str__(self) -> str:
        return str(SeriesKey(*self))


Config = Mapping[ConfigKey, ConfigValue]
"""The settings that a log states of a launch: the model's shape, the hardware, the environment."""

NO_CONFIG: Config = MappingProxyType({})


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Column:
    """One series' values in a batch: `values[i]` was logged at row `rows[i]` of the batch.

    `rows` is None when the series has a value at every row. A row without a value is left out, which is
    not the same as a logged NaN.
    """

    key: SeriesKey
    values: FloatArray
    rows: IntArray | None = None


class SeriesLayout:
    """The series of dense batches, in order; made once and shared by all batches that have the same series.

    Compared by identity, so that results computed for a layout can be cached by it.
    """

    __slots__ = ("__weakref__", "index", "keys")

    def __init__(self, keys: Iterable[SeriesKey]) -> None:
        self.keys = tuple(keys)
        self.index = {key: position for position, key in enumerate(self.keys)}


class DenseColumns(Sequence[Column]):
    """The columns of a layout, each with a value at every row; `values` [series, rows]."""

    __slots__ = ("layout", "values")

    def __init__(self, layout: SeriesLayout, values: FloatArray) -> None:
        if values.ndim != 2 or len(values) != len(layout.keys):
            raise ValueError(f"values {values.shape}, expected one row for each of {len(layout.keys)} series")
        self.layout = layout
        self.values = values

    def __len__(self) -> int:
        return len(self.layout.keys)

    @overload
    def __getitem__(self, index: int) -> Column: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Column]: ...
    def __getitem__(self, index: int | slice) -> Column | Sequence[Column]:
        if isinstance(index, slice):
            return tuple(self)[index]
        return Column(key=self.layout.keys[index], values=self.values[index])


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Batch:
    """Columns of several series over shared rows, in the order in which they were logged.

    `steps` [n] int64; `times` [n] float64, Unix seconds, NaN where the log has no clock.
    `attempt` is the launch as the log itself names it ("0", a job id), None where it does not.
    `restarts`: the log marks a new launch at the first row (TensorBoard's SessionLog.START); in a batch of a
    writer that logs settings only, `config` replaces the settings that this writer stated before.
    `config`: the settings that the log states before the first row, of the launch that this row belongs to;
    in a batch without rows of training, of the launch that the writer's next such row will belong to.
    """

    steps: IntArray
    times: FloatArray
    columns: Sequence[Column]
    attempt: str | None = None
    restarts: bool = False
    config: Config = field(default_factory=lambda: NO_CONFIG)

    @property
    def points(self) -> int:
        """The number of values in the batch."""
        if isinstance(self.columns, DenseColumns):
            return self.columns.values.size
        return sum(len(column.values) for column in self.columns)

    def steps_of(self, column: Column) -> IntArray:
        """The steps of the values of one of the columns, as long as these."""
        return self.steps if column.rows is None else self.steps[column.rows]

    def with_columns(self, columns: Sequence[Column]) -> Batch:
        """The batch with other columns over the same rows."""
        return replace(self, columns=columns)

    def cut(self, start: int, stop: int) -> Batch:
        """Rows [start, stop); the batch itself where these are all. `rows` of each column must ascend."""
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
    parts = []
    for column in columns:
        if column.rows is None:
            parts.append(Column(key=column.key, values=column.values[start:stop]))
            continue
        first, last = np.searchsorted(column.rows, (start, stop))
        if first < last:
            rows = column.rows[first:last] - start
            parts.append(Column(key=column.key, values=column.values[first:last], rows=rows))
    return tuple(parts)


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
    """How far a source has been read and by which format: enough to continue exactly after a restart.

    `source` names the file; `offset` is the byte after the last accepted record; `state` is the
    reader's own state as JSON-able values; `identity` distinguishes a file that was rewritten or replaced
    from one that has grown.
    """

    source: str
    format: str
    offset: int
    identity: str
    state: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Delivery:
    """A batch on its way into the store, with its run, its writer and its idempotency key.

    `batch_id` is the idempotency key within the run: a second delivery of it changes nothing.
    `writer` identifies the process or file that logged it. `cursor` is stored in the same transaction.
    `finished`: the run has ended with these points, or without any.
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

    A step of an attempt may have several points: several calls of `log`, or writers. Points without a clock
    come before others of their step, in the order in which they were written.
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
    """The input of detectors: every series of one run, up to some moment.

    Each step of an attempt has one point, the last one (`holter.attempts.step_values`).
    `now` (Unix seconds) is the time of the analysis, None when the run is over; only `stall` uses it.
    `config` has the settings that its logs state, by attempt: the newest value of each.
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
    """A problem of how a launch is configured, or of the numbers that it reports; not tied to a step.

    `code` is the permanent name of this kind of diagnostic, e.g. "nccl-sockets"; `evidence` has the values
    that it is based on, JSON-able.
    """

    code: str
    attempt: int
    severity: Severity
    summary: str
    advice: str
    labels: Labels = ()
    evidence: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The diagnostic as the contract states it (docs/findings.md)."""
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
    """The kinds of findings. The values are part of the findings contract."""

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
    METRIC_COLLAPSE = "metric_collapse"
    WORSE_THAN_REFERENCE = "worse_than_reference"
    AGENT_SILENT = "agent_silent"
    NO_DATA = "no_data"
    USER_ALERT = "user_alert"


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
class Cause:
    """A probable cause of a finding, with what supports it and what contradicts it.

    `code` is the permanent name of this kind of cause ("learning_rate"), `title` a few words for headlines;
    `sentence` states the change, without a full stop. `score` (0 to 1) is the probability that it is the
    cause; `is_clear`: the finding's summary and advice name it first. `metric` and `labels` are the series or
    the setting that changed from `before` to `after` at `step` of `attempt`, where there is one.
    """

    code: str
    title: str
    sentence: str
    advice: str
    score: float
    attempt: int
    step: int
    is_clear: bool = False
    metric: str = ""
    labels: Labels = ()
    before: ConfigValue | None = None
    after: ConfigValue | None = None
    evidence_for: tuple[str, ...] = ()
    evidence_against: tuple[str, ...] = ()

    @property
    def json_labels(self) -> dict[str, int | str]:
        """The labels as JSON has them: values of digits as integers."""
        return _json_labels(self.labels)

    def as_json(self) -> dict[str, Any]:
        """The cause as the findings contract states it (docs/findings.md)."""
        return {
            "code": self.code,
            "title": self.title,
            "sentence": self.sentence,
            "advice": self.advice,
            "score": round(self.score, 3),
            "clear": self.is_clear,
            "attempt": self.attempt,
            "step": self.step,
            "metric": str(self.metric),
            "labels": self.json_labels,
            "before": self.before,
            "after": self.after,
            "evidence_for": list(self.evidence_for),
            "evidence_against": list(self.evidence_against),
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Cause:
        """The cause from the values that `as_json` returned; its score has three digits."""
        values = {name: value for name, value in stored.items() if name != "clear"}
        values |= {name: tuple(stored[name]) for name in ("evidence_for", "evidence_against")}
        return cls(**values | {"is_clear": stored["clear"], "labels": labels_of(stored["labels"])})


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """What a detector states about the data that it has seen: a value, without identity or lifecycle.

    Steps are those of the log. `end_step` is None while it lasts; `detected_step` is the last step that the
    detector had seen when it first reported the finding, `classified_step` when the kind became final (None:
    it may still change). `evidence` has the numbers that it is based on, as JSON-able values. `causes` are
    its probable causes, the most probable first.
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
    causes: tuple[Cause, ...] = ()

    @property
    def clear_causes(self) -> tuple[Cause, ...]:
        """The causes that its summary and advice name first: one, or several that cannot be told apart."""
        return tuple(cause for cause in self.causes if cause.is_clear)

    def as_reference(self) -> dict[str, Any]:
        """A reference to this finding for the evidence of another one, as JSON-able values."""
        return reference_to(
            self.kind,
            metric=self.metric,
            labels=self.labels,
            attempt=self.attempt,
            start_step=self.start_step,
        )

    @property
    def json_labels(self) -> dict[str, int | str]:
        """The labels as JSON has them: values of digits as integers."""
        return _json_labels(self.labels)

    def as_json(self) -> dict[str, Any]:
        """The finding as the findings contract states it (docs/findings.md)."""
        return {
            "kind": self.kind.value,
            "metric": self.metric,
            "labels": self.json_labels,
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
            "causes": [cause.as_json() for cause in self.causes],
        }
