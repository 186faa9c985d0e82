"""Answers about a run's launches: configuration, diagnostics, throughput, speed of collectives."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from holter.server.schemas.base import ApiObject
from holter.types import ConfigValue, Severity


class SettingHolders(ApiObject):
    """How many processes have a value, 0 where it is one of the whole job; the labels of the first few."""

    processes: int
    labels: list[dict[str, str]]


class SettingValue(SettingHolders):
    """A value of a setting, and the attempts that have it."""

    attempts: list[int]
    value: ConfigValue


class LaunchSetting(ApiObject):
    """A setting with all values that it has had."""

    name: str
    values: list[SettingValue]


class ChangedSetting(SettingHolders):
    """A setting with a new value; `before` is null where no earlier launch states one."""

    name: str
    before: ConfigValue | None
    after: ConfigValue


class LaunchChanges(ApiObject):
    """The settings of an attempt that differ from the earlier attempts: the first of `settings_count`."""

    attempt: int
    settings: list[ChangedSetting]
    settings_count: int


class RunConfig(ApiObject):
    """The configuration of a run's launches, as the logs of `attempts` state it."""

    attempts: list[int]
    settings: list[LaunchSetting]
    settings_count: int
    changes: list[LaunchChanges]


class DiagnosticView(ApiObject):
    """A problem with the configuration of a launch, or with the figures that it reports."""

    code: str
    attempt: int
    labels: dict[str, str]
    severity: Severity
    summary: str
    advice: str
    evidence: dict[str, Any]


class DiagnosticList(ApiObject):
    """The diagnostics of a run, the most severe first."""

    remarks: list[DiagnosticView]


class ThroughputLevel(ApiObject):
    """Statistics of a curve without superseded points.

    Medians over its newest 50 points (`newest`) and over all (`usual`), and the best value.
    """

    newest: float | None
    usual: float | None
    best: float | None


class ReportedSeries(ThroughputLevel):
    """A figure as the run reports it: MFU as a share, TFLOPS per device. `formula` describes its formula."""

    metric: str
    labels: dict[str, str]
    quantity: str
    framework: str | None
    formula: str


class ComputedThroughput(ApiObject):
    """Holter's own figures per device, computed from the series `measured_from`.

    `missing` lists what the logs do not state. `precision_assumed`: the launch does not state its precision,
    bf16 is assumed.
    """

    formula: str
    tokens_per_second_per_device: ThroughputLevel
    tflops: ThroughputLevel
    mfu: ThroughputLevel
    hfu: ThroughputLevel
    recomputed: str | None
    flops_per_token: float | None
    parameters: int | None
    active_weights: int | None
    devices: int | None
    device: str | None
    peak_tflops: float | None
    peak_source: str | None
    precision: str
    precision_assumed: bool
    measured_from: str | None
    missing: list[str]


class ThroughputReport(ApiObject):
    """The throughput that a run reports, and Holter's own computation, which are never mixed."""

    reported: list[ReportedSeries]
    own: ComputedThroughput


class ThroughputQuantity(StrEnum):
    """One of Holter's own figures per device: a share of the peak, TFLOPS, or tokens per second."""

    MFU = "mfu"
    HFU = "hfu"
    TFLOPS = "tflops"
    TOKENS = "tokens"


class ThroughputSegment(ApiObject):
    """Points of one attempt, which a line may join; `ghost`: superseded by newer attempts."""

    attempt: int
    ghost: bool
    step: list[int]
    value: list[float]


class ThroughputCurve(ApiObject):
    """One of Holter's own figures over all steps; `stretches` is empty where the logs state too little."""

    quantity: ThroughputQuantity
    stretches: list[ThroughputSegment]


class CollectiveSpeed(ApiObject):
    """The speed of similar collective calls, from a `benchmark`, a `trace`, or individually timed `calls`.

    `bytes` is the size of one call; `seconds` the time of all calls on a rank, with waiting; `busbw_gbs` the
    bus bandwidth in GB/s of the rank that waited least. `link` is the fastest link that the calls use,
    `link_gbs` its bandwidth in one direction, `link_source` where that figure is published, and `share` the
    part of it that is reached. These are null where the logs do not state the hardware; `share` also
    for calls below 1 MiB, whose time is latency.
    """

    source: str
    collective: str
    communicator: str
    size: str
    bytes: float
    ranks: int
    calls: int
    seconds: float
    busbw_gbs: float
    link: str | None
    link_gbs: float | None
    link_source: str | None
    share: float | None


class CommunicationOverlap(ApiObject):
    """Seconds of a rank's trace: in collectives, in other kernels, and in collectives alone (`exposed`)."""

    rank: str
    communication: float
    compute: float
    exposed: float
    exposed_share: float
    hidden_share: float


class RankWait(ApiObject):
    """A rank that came last in `last` of `calls`; the others waited `mean_wait` seconds for it each time."""

    communicator: str
    rank: str
    host: str | None
    last: int
    calls: int
    share: float
    mean_wait: float
    waited: float


class LaggingRank(ApiObject):
    """A rank whose log of a communicator ends at call `last`, while those of the others end at `others`."""

    communicator: str
    rank: str
    host: str | None
    last: int
    others: int
    ranks: int


class RunCollectives(ApiObject):
    """The first of `collectives_count` kinds of calls; `series_left_out` were too many to be compared."""

    collectives: list[CollectiveSpeed]
    collectives_count: int
    overlap: list[CommunicationOverlap]
    waited_for: list[RankWait]
    behind: list[LaggingRank]
    series_left_out: int
