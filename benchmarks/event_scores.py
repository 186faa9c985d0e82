"""Scores findings against labelled events, one to one: detection, classes, false alarms, delays.

A labelled run is a folder with a truth.json: `events` (class, attempt, start_step, onset_step, end_step,
recovered_step, first_unseen_step, ambiguous, accept), `attempts`, `log_schedule`, `n_rows`. How it is scored:

- A finding is a candidate for an event of the same signal (loss, throughput, ranks) on the same attempt if it
  starts within a window around the onset. Pairs of the right class come first, then the nearest; each event
  and each finding is used once. There is no point adjustment.
- An ambiguous event is neither found nor missed, and a finding that matches it is neither right nor wrong.
- Another finding within an event's span is a fragment, not a false alarm; so is a throughput regression
  within a straggler's. A straggler must name the rank.
- A finding on no event is a false alarm, unless the labels are said to be incomplete there.
- The delay is detected_step less the onset, in logged points.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Truth = Mapping[str, Any]
Finding = Mapping[str, Any]

SIGNALS = {
    "spike_fast": "loss",
    "spike_slow": "loss",
    "spike_unrecovered": "loss",
    "divergence": "loss",
    "nonfinite": "loss",
    "resume_artifact": "loss",
    "repeated_data": "loss",
    "dataset_spike": "loss",
    "throughput_regression": "throughput",
    "straggler": "ranks",
}
"""The classes that are scored, by the signal that they are about; other kinds of findings are left out."""
NOT_PLANTED = {"natural_shift", "natural_instability"}
"""Found in fault-free training afterwards: always ambiguous."""
LATE_POINTS = {
    "spike_fast": 20,
    "spike_slow": 60,
    "spike_unrecovered": 60,
    "nonfinite": 5,
    "resume_artifact": 100,
    "dataset_spike": 30,
    "repeated_data": 256,
    "divergence": 2000,
    "throughput_regression": 300,
    "straggler": 2000,
}
"""How many points after the onset a finding may start."""
EARLY_POINTS = {"divergence": 300, "throughput_regression": 60, "straggler": 300}
"""How many points before the start; 3 for other classes."""
LASTING = ("spike_unrecovered", "divergence", "straggler", "throughput_regression")
"""Without a recovery, these last to the end of the run."""
MISSED, NOTHING = "(missed)", "(nothing)"


@dataclass(frozen=True, kw_only=True)
class LabelledEvent:
    """One event of a truth.json in the steps of its attempt; `points` is the spacing of its rows in steps."""

    kind: str
    attempt: int
    start: int
    onset: int
    last: int
    points: int
    ambiguous: bool
    accept: tuple[str, ...]
    rank: int | None
    mechanism: str
    dataset: str | None = None
    """Of a rise: the dataset whose loss alone rose."""

    @property
    def signal(self) -> str:
        """What it is about."""
        return SIGNALS[self.kind]

    @property
    def first(self) -> int:
        """The earliest step at which a finding of it may start."""
        return min(self.start, self.onset) - max(2, EARLY_POINTS.get(self.kind, 3)) * self.points

    @property
    def latest(self) -> int:
        """The latest one."""
        return self.onset + LATE_POINTS[self.kind] * self.points

    def kind_of(self, finding: Finding, kind: str) -> str:
        """The class of a finding that is held against this event: a spike that names the dataset which alone
        rose is of its own kind, and no bad batch of that dataset."""
        is_named = self.dataset is not None and _dataset_of(finding) == self.dataset
        return str(finding["kind"]) if kind == "dataset_spike" != self.kind and is_named else kind

    def accepts(self, finding: Finding, kind: str) -> bool:
        """Whether a finding of a class is right."""
        kind = self.kind_of(finding, kind)
        return kind == self.kind or kind in self.accept

    def spans(self, finding: Finding, kind: str) -> bool:
        """Whether a finding that it does not need is a part of it."""
        is_consequence = kind == "throughput_regression" and self.kind == "straggler"
        return (
            (SIGNALS[kind] == self.signal or is_consequence)
            and finding.get("attempt", 0) == self.attempt
            and self.start - max(2, EARLY_POINTS.get(self.kind, 3)) * self.points
            <= finding["start_step"]
            <= self.last + 100 * self.points
        )


@dataclass
class EventScores:
    """Counts over labelled runs; `by_mechanism` has (events, found, of the right class)."""

    confusion: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    delays: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    by_mechanism: dict[str, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0, 0]))
    ambiguous: int = 0
    fragments: int = 0
    points: int = 0
    clean_points: int = 0
    clean_alarms: int = 0
    runs: int = 0
    details: list[str] = field(default_factory=list)

    def add(self, truth: Truth, findings: Sequence[Finding], name: str = "") -> None:
        """Count one run."""
        events = read_events(truth)
        scored = [(each, class_of(each, truth)) for each in findings]
        scored = [(each, kind) for each, kind in scored if kind in SIGNALS]
        pairs = match(events, scored)
        used = set(pairs.values())
        rest = [pair for number, pair in enumerate(scored) if number not in used]
        parts = [pair for pair in rest if any(event.spans(*pair) for event in events)]
        alarms = [pair for pair in rest if pair not in parts and not _is_unlabelled(truth, pair[0])]
        self.runs += 1
        self.points += truth["n_rows"]
        self.fragments += len(parts)
        if not events:
            self.clean_points += truth["n_rows"]
            self.clean_alarms += len(alarms)
        for finding, kind in alarms:
            self.confusion[NOTHING][kind] += 1
            self.details.append(f"{name}: false {kind} at {finding['start_step']} of {finding.get('metric')}")
        for number, event in enumerate(events):
            found = scored[pairs[number]] if number in pairs else None
            self._count(event, found, name)

    def _count(self, event: LabelledEvent, found: tuple[Finding, str] | None, name: str) -> None:
        if event.ambiguous:
            self.ambiguous += 1
            return
        counts = self.by_mechanism[event.mechanism]
        counts[0] += 1
        if found is None:
            self.confusion[event.kind][MISSED] += 1
            self.details.append(f"{name}: missed {event.kind} at {event.start} ({event.mechanism})")
            return
        finding, kind = found
        is_right = event.accepts(finding, kind)
        kind = event.kind_of(finding, kind)
        counts[1] += 1
        counts[2] += is_right
        self.confusion[event.kind][event.kind if is_right else kind] += 1
        if not is_right:
            self.details.append(f"{name}: {event.kind} at {event.start} as {kind} ({event.mechanism})")
        if finding.get("detected_step") is not None:
            self.delays[event.kind].append((finding["detected_step"] - event.onset) / event.points)

    def per_class(self) -> list[dict[str, Any]]:
        """Precision, recall, F1 and delays of each class that occurs."""
        return [row for kind in SIGNALS if (row := self._class_row(kind))["events"]]

    def _class_row(self, kind: str) -> dict[str, Any]:
        counts = self.confusion[kind]
        events, right = sum(counts.values()), counts[kind]
        found = sum(row[kind] for row in self.confusion.values())
        precision, recall = right / found if found else 0.0, right / events if events else 0.0
        return {
            "kind": kind,
            "events": events,
            "detected": events - counts[MISSED],
            "right_class": right,
            "precision": round(precision, 3),
            "recall": round(recall, 3),
            "f1": round(harmonic_mean(precision, recall), 3),
            "delay_p50": quantile(self.delays[kind], 0.5),
            "delay_p90": quantile(self.delays[kind], 0.9),
        }

    def summary(self) -> dict[str, Any]:
        """The totals."""
        rows = self.per_class()
        events, found, right = (
            sum(row[name] for row in rows) for name in ("events", "detected", "right_class")
        )
        alarms = sum(self.confusion[NOTHING].values())
        precision = found / (found + alarms) if found + alarms else 0.0
        recall = found / events if events else 0.0
        return {
            "events": events,
            "detected": found,
            "detection_recall": round(recall, 4),
            "detection_precision": round(precision, 4),
            "detection_f1": round(harmonic_mean(precision, recall), 4),
            "class_accuracy": round(right / found, 4) if found else 0.0,
            "macro_f1": round(sum(row["f1"] for row in rows) / len(rows), 4) if rows else 0.0,
            "false_alarms": alarms,
            "false_alarms_per_10k_points": per_ten_thousand(alarms, self.points),
            "false_alarms_on_clean_runs": self.clean_alarms,
            "clean_points": self.clean_points,
            "false_alarms_per_10k_clean_points": per_ten_thousand(self.clean_alarms, self.clean_points),
            "fragments": self.fragments,
            "ambiguous_events": self.ambiguous,
            "delay_p50": quantile([delay for delays in self.delays.values() for delay in delays], 0.5),
            "delay_p90": quantile([delay for delays in self.delays.values() for delay in delays], 0.9),
        }


def read_events(truth: Truth) -> list[LabelledEvent]:
    """The events of a truth.json."""
    events = []
    for raw in truth["events"]:
        kind = {"nan": "nonfinite"}.get(raw["class"], raw["class"])
        is_planted = kind not in NOT_PLANTED
        start, onset = raw["start_step"], raw.get("onset_step")
        params = raw.get("params", {})
        events.append(
            LabelledEvent(
                kind=kind if is_planted else "spike_slow",
                attempt=raw.get("attempt", 0),
                start=start,
                onset=start if onset is None else onset,
                last=_last_step(raw, truth),
                points=_spacing(truth, start),
                ambiguous=bool(raw.get("ambiguous")) or not is_planted,
                accept=tuple(raw.get("accept", ())),
                rank=params.get("rank") if kind == "straggler" else None,
                mechanism=params.get("mechanism", ""),
                dataset=params.get("dataset"),
            )
        )
    return events


def class_of(finding: Finding, truth: Truth) -> str:
    """The class of a finding: a spike on the loss of one dataset is a `dataset_spike`."""
    kind, metric = str(finding["kind"]), finding.get("metric") or ""
    datasets = truth.get("dataset_metrics")
    of_dataset = metric.startswith("loss/") if datasets is None else metric in datasets
    if kind.startswith("spike_") and (of_dataset or (finding.get("labels") or {}).get("dataset")):
        return "dataset_spike"
    return {"nan": "nonfinite"}.get(kind, kind)


def _dataset_of(finding: Finding) -> str:
    """The dataset that a finding names, or the last part of its metric."""
    named = (finding.get("labels") or {}).get("dataset")
    return str(named or (finding.get("metric") or "").rsplit("/", 1)[-1])


def match(events: Sequence[LabelledEvent], scored: Sequence[tuple[Finding, str]]) -> dict[int, int]:
    """The finding of each event that has one, by their numbers."""
    pairs = []
    for number, event in enumerate(events):
        for other, (finding, kind) in enumerate(scored):
            is_near = (
                SIGNALS[kind] == event.signal
                and finding.get("attempt", 0) == event.attempt
                and event.first <= finding["start_step"] <= event.latest
            )
            names_rank = event.rank is None or (finding.get("labels") or {}).get("rank") in (
                event.rank,
                str(event.rank),
            )
            if is_near and names_rank:
                distance = abs(finding["start_step"] - event.start)
                pairs.append((not event.accepts(finding, kind), distance, number, other))
    result: dict[int, int] = {}
    for _, _, number, other in sorted(pairs):
        if number not in result and other not in result.values():
            result[number] = other
    return result


def _last_step(raw: Mapping[str, Any], truth: Truth) -> int:
    named = (raw.get(name) for name in ("end_step", "recovered_step", "first_unseen_step"))
    steps = [step for step in named if step is not None]
    if raw["class"] in LASTING and not raw.get("recovered_step"):
        steps += [each["last_step"] for each in truth["attempts"]]
    return max(steps, default=raw["start_step"])


def _spacing(truth: Truth, step: int) -> int:
    spacing = 1
    for start, every in truth.get("log_schedule", [[0, 1]]):
        spacing = every if step >= start else spacing
    return max(1, spacing)


def _is_unlabelled(truth: Truth, finding: Finding) -> bool:
    if truth.get("labels_complete", True) is False:
        return True
    start = truth.get("labels_complete_from")
    return start is not None and finding["start_step"] < start


def quantile(values: Iterable[float], share: float) -> float | None:
    """The smallest value that at least this share does not exceed; None without values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)] if ordered else None


def harmonic_mean(one: float, other: float) -> float:
    """F1 of precision and recall."""
    return 2 * one * other / (one + other) if one + other else 0.0


def per_ten_thousand(count: int, points: int) -> float | None:
    """A rate; None without points."""
    return round(count / points * 1e4, 4) if points else None
