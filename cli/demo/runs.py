"""The runs of the demo: their columns as they were logged, and their known events."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from holter.types import FloatArray, IntArray

DATA = Path(__file__).parent / "data"
TAGS = {
    "loss": "train/loss",
    "grad_norm": "train/grad_norm",
    "lr": "train/learning_rate",
    "tokens_per_s": "train/tokens_per_second",
    "step_time_s": "train/step_time",
}
"""The metric for each column of a table, of which each run has some."""
SIMULATED_CLOCK = "simulated clock"
PUBLIC_LOG = "public log"
CLOCKS = {
    SIMULATED_CLOCK: "simulated: wall times and tokens per second were made for this demo",
    PUBLIC_LOG: "as logged: step times are those of the job",
}
"""What the clock of a run is, by the project in which the demo shows it."""
START_TOLERANCE = {
    "spike_fast": (3, 20),
    "spike_slow": (3, 60),
    "spike_unrecovered": (3, 60),
    "nonfinite": (3, 5),
    "repeated_data": (3, 256),
    "throughput_regression": (60, 300),
}
"""Steps before and after the labelled start in which a finding may begin and still match the event: those of
Holter's benchmark (docs/measurements/detection.md), for logs of every step."""


@dataclass(frozen=True, eq=False, kw_only=True)
class RecordedAttempt:
    """The rows of one attempt: steps [n], wall times [n] in seconds since the run began, columns by tag."""

    steps: IntArray
    times: FloatArray
    columns: Mapping[str, FloatArray]


@dataclass(frozen=True, kw_only=True)
class KnownEvent:
    """An event that is known to have happened: `kind`, from `start_step` on, in `attempt`.

    Its label may allow other kinds (`accept`), for events on the border of two.
    """

    kind: str
    attempt: int
    start_step: int
    accept: tuple[str, ...] = ()

    def matches(self, finding: Mapping[str, Any]) -> bool:
        """Whether a finding (as JSON) is about this event and has its kind, or one that its label allows."""
        early, late = START_TOLERANCE[self.kind]
        return bool(
            finding["kind"] in (self.kind, *self.accept)
            and finding["attempt"] == self.attempt
            and self.start_step - early <= finding["start_step"] <= self.start_step + late
        )


@dataclass(frozen=True, kw_only=True)
class RecordedRun:
    """One run of the demo. Those with a simulated clock are replayed as files, public logs over HTTP."""

    name: str
    origin: str
    project: str
    description: str
    points: int
    attempts: tuple[RecordedAttempt, ...]
    events: tuple[KnownEvent, ...]

    @property
    def settings(self) -> dict[str, str]:
        """What the run page says about where the run comes from."""
        return {
            "origin": self.origin,
            "clock": CLOCKS[self.project],
            "replay": "hours are compressed into seconds",
        }

    @property
    def seconds(self) -> float:
        """The real duration from the first row to the last."""
        return float(self.attempts[-1].times[-1])


def load_runs(names: Collection[str] = ()) -> list[RecordedRun]:
    """The runs of these names, or all runs. Raises ValueError for an unknown name."""
    known = {entry["name"]: entry for entry in json.loads((DATA / "known.json").read_text())}
    if unknown := sorted(set(names) - known.keys()):
        raise ValueError(f"no such run in the demo: {', '.join(unknown)} (available: {', '.join(known)})")
    return [_load_run(entry) for name, entry in known.items() if not names or name in names]


def _load_run(entry: Mapping[str, Any]) -> RecordedRun:
    """One run from its files and its entry in known.json."""
    tables = [
        _read_columns(DATA / entry["name"] / f"attempt-{number}.csv.gz")
        for number in range(entry["attempts"])
    ]
    begin = float(tables[0]["wall_time"][0])
    return RecordedRun(
        name=entry["name"],
        origin=entry["from"],
        project=entry["project"],
        description=entry["description"],
        points=entry["points"],
        attempts=tuple(
            RecordedAttempt(
                steps=table["step"].astype(np.int64),
                times=table["wall_time"] - begin,
                columns={tag: table[column] for column, tag in TAGS.items() if column in table},
            )
            for table in tables
        ),
        events=tuple(
            KnownEvent(
                kind=event["kind"],
                attempt=event["attempt"],
                start_step=event["start_step"],
                accept=tuple(event["accept"]),
            )
            for event in entry["events"]
        ),
    )


def _read_columns(path: Path) -> dict[str, FloatArray]:
    """The columns of a compressed CSV file of numbers."""
    with gzip.open(path, "rt", newline="") as file:
        header, *rows = csv.reader(file)
    values = np.array(rows, dtype=np.float64)
    return {name: values[:, column] for column, name in enumerate(header)}
