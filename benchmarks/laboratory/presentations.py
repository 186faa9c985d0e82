"""The same run presented in other ways: renamed, scaled, cut, in other files. Findings must stay."""

from __future__ import annotations

import json
import math
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from detection import format_table
from event_scores import SIGNALS, LabelledEvent, class_of, match, read_events
from numpy.typing import NDArray
from peers.event_files import NAME, encode_beginning, encode_event

from holter.detectors import find
from holter.ingest.offline.read_run import read_run
from holter.json_values import plain
from holter.roles import Role, role_of
from holter.types import RunData, SeriesKey
from laboratory.files import log_time
from laboratory.measure import map_in_processes

Values = NDArray[np.float64]
LONG_STEPS = 20
"""Events longer than this must be found in every tenth row, too."""
TOLERANCE_ROWS = 10
"""A cut run knows less of its noise: a finding counts as found again if it starts so near."""


@dataclass(frozen=True, eq=False)
class LogTable:
    """The columns of each attempt by metric, with `step` and `wall_time`; all of an attempt are as long."""

    attempts: tuple[Mapping[str, Values], ...]

    def map_rows(self, change: Callable[[Mapping[str, Values]], Mapping[str, Values]]) -> LogTable:
        """The table with each attempt changed."""
        return LogTable(tuple(change(each) for each in self.attempts))

    def metrics(self, *roles: Role) -> list[str]:
        """The metrics of these roles; of any without."""
        names = [name for name in self.attempts[0] if name not in ("step", "wall_time")]
        return [name for name in names if not roles or role_of(SeriesKey(name)) in roles]


def table_of(run: RunData) -> LogTable:
    """The series of a run without labels, as a table; each step must have all of them."""
    series = {key.metric: each for key, each in sorted(run.series.items()) if not key.labels}
    first = next(iter(series.values()))
    attempts = []
    for number in np.unique(first.attempt).tolist():
        own = first.attempt == number
        columns = {name: each.value[each.attempt == number] for name, each in series.items()}
        attempts.append({"step": first.step[own].astype(np.float64), "wall_time": first.time[own], **columns})
    return LogTable(tuple(attempts))


@dataclass(frozen=True, kw_only=True)
class Presentation:
    """A way to show a run. `expected`: a finding of the original as it must be found now; None: cut off.

    `exact`: kind, severity and steps must be equal; otherwise a finding of the same attempt must start near.
    """

    name: str
    change: Callable[[LogTable], LogTable] = lambda table: table
    write: Callable[[LogTable, Path], None] = lambda table, folder: write_csv(table, folder)
    exact: bool = True
    expected: Callable[[dict[str, Any], LogTable], dict[str, Any] | None] = lambda finding, table: finding


@dataclass
class PresentationScore:
    """How many findings of the original are the same, or at least near, and how many are new."""

    runs: int = 0
    expected: int = 0
    same: int = 0
    near: int = 0
    new: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    """What was lost, changed or new, by kind."""
    details: list[str] = field(default_factory=list)

    def add(self, other: PresentationScore) -> None:
        """Add another score."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


def renamed(table: LogTable) -> LogTable:
    """Other frameworks' names."""
    names = {
        Role.LOSS: "training/loss",
        Role.GRAD_NORM: "global_grad_norm",
        Role.LEARNING_RATE: "train/lr",
        Role.THROUGHPUT: "tokens_per_second",
        Role.STEP_TIME: "iteration_time",
    }
    new = {name: names.get(role_of(SeriesKey(name)), name) for name in table.metrics()}
    return table.map_rows(lambda rows: {new.get(name, name): values for name, values in rows.items()})


def losses_changed(change: Callable[[Values], Values]) -> Callable[[LogTable], LogTable]:
    """A change of the losses, those of datasets included."""

    def apply(table: LogTable) -> LogTable:
        losses = table.metrics(Role.LOSS, Role.DATASET_LOSS)
        return table.map_rows(lambda rows: {**rows, **{name: change(rows[name]) for name in losses}})

    return apply


def reordered(table: LogTable) -> LogTable:
    """Columns from the last to the first."""
    return table.map_rows(lambda rows: dict(reversed(rows.items())))


def every_tenth(table: LogTable) -> LogTable:
    """Every tenth step."""
    return table.map_rows(
        lambda rows: {name: values[rows["step"] % 10 == 9] for name, values in rows.items()}
    )


def means_of_ten(table: LogTable) -> LogTable:
    """Losses, norms and speeds as means since the row before, other columns as they are."""
    averaged = table.metrics(Role.LOSS, Role.DATASET_LOSS, Role.GRAD_NORM, Role.THROUGHPUT, Role.STEP_TIME)

    def apply(rows: Mapping[str, Values]) -> Mapping[str, Values]:
        last = np.flatnonzero(rows["step"] % 10 == 9)
        bounds = list(zip(np.concatenate(([0], last[:-1] + 1)), last + 1, strict=True))
        return {
            name: np.array([values[a:b].mean() for a, b in bounds]) if name in averaged else values[last]
            for name, values in rows.items()
        }

    return table.map_rows(apply)


def whole_seconds(table: LogTable) -> LogTable:
    """Wall times without fractions, as many programs print them."""
    return table.map_rows(lambda rows: {**rows, "wall_time": np.floor(rows["wall_time"])})


CUT = 0.1
"""Of the steps, at the beginning and at the end."""


def cut_bounds(table: LogTable) -> tuple[float, float]:
    """The first and the last step that remain."""
    last = max(float(rows["step"][-1]) for rows in table.attempts)
    return CUT * last, (1 - CUT) * last


def cut(table: LogTable) -> LogTable:
    """Without the first and the last tenth of the steps."""
    first, last = cut_bounds(table)

    def apply(rows: Mapping[str, Values]) -> Mapping[str, Values]:
        kept = (rows["step"] >= first) & (rows["step"] <= last)
        return {name: values[kept] for name, values in rows.items()}

    return table.map_rows(apply)


def _if_not_cut(finding: dict[str, Any], table: LogTable) -> dict[str, Any] | None:
    first, last = cut_bounds(table)
    points = len(table.attempts[0]["step"]) * CUT
    is_inside = finding["start_step"] >= first + points and finding["detected_step"] <= last
    return finding if is_inside else None


def twice(table: LogTable) -> LogTable:
    """Another program's run appended to the same file: the same steps again, without any restart."""
    copies = []
    offset = table.attempts[-1]["wall_time"][-1] - table.attempts[0]["wall_time"][0] + 3600
    for number in (0, 1):
        copies += [{**rows, "wall_time": rows["wall_time"] + number * offset} for rows in table.attempts]
    return LogTable(tuple(copies))


def write_csv(table: LogTable, folder: Path) -> None:
    """A CSV file per attempt."""
    for number, rows in enumerate(table.attempts):
        write_lines(folder / f"attempt-{number}.csv", [",".join(rows), *map(",".join, texts(rows))])


def write_joined_csv(table: LogTable, folder: Path) -> None:
    """One CSV file with a column `attempt`."""
    lines = [",".join(["attempt", *table.attempts[0]])]
    for number, rows in enumerate(table.attempts):
        lines += [f"{number},{','.join(cells)}" for cells in texts(rows)]
    write_lines(folder / "metrics.csv", lines)


def write_jsonl(table: LogTable, folder: Path) -> None:
    """A JSON Lines file per attempt."""
    words = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
    for number, rows in enumerate(table.attempts):
        lines = []
        for cells in texts(rows):
            pairs = zip(rows, cells, strict=True)
            lines.append("{" + ", ".join(f"{json.dumps(n)}: {words.get(c, c)}" for n, c in pairs) + "}")
        write_lines(folder / f"attempt-{number}.jsonl", lines)


def write_unmarked_csv(table: LogTable, folder: Path) -> None:
    """One CSV file; only steps that go back show a restart."""
    lines = [",".join(table.attempts[0])]
    for rows in table.attempts:
        lines += map(",".join, texts(rows))
    write_lines(folder / "metrics.csv", lines)


def write_events(table: LogTable, folder: Path) -> None:
    """A TensorBoard event file per attempt; values have 32 bits."""
    for number, rows in enumerate(table.attempts):
        start = float(rows["wall_time"][0])
        records = [encode_beginning(start)]
        for place, step in enumerate(rows["step"]):
            time = float(rows["wall_time"][place])
            records += [
                encode_event(time, int(step), name.encode(), float(values[place]), tensors=False)
                for name, values in rows.items()
                if name not in ("step", "wall_time")
            ]
        name = NAME.replace("1700000000", str(int(start))).replace(".1.0", f".{number + 1}.0")
        (folder / name).write_bytes(b"".join(records))


def write_console(table: LogTable, folder: Path) -> None:
    """Lines as a script prints them, all attempts in one text."""
    lines = []
    for rows in table.attempts:
        names = list(rows)
        for cells in texts(rows):
            values = dict(zip(names, cells, strict=True))
            moment = log_time(float(values.pop("wall_time")))
            step = values.pop("step")
            lines.append(f"{moment} step {step} | " + " | ".join(f"{n}: {v}" for n, v in values.items()))
    write_lines(folder / "train.log", lines)


def texts(rows: Mapping[str, Values]) -> list[list[str]]:
    """The cells of each row; numbers keep all their digits."""
    columns = []
    for name, values in rows.items():
        columns.append([str(int(value)) if name == "step" else repr(float(value)) for value in values])
    return [list(cells) for cells in zip(*columns, strict=True)]


def write_lines(path: Path, lines: Sequence[str]) -> None:
    """A text file."""
    path.write_text("\n".join(lines) + "\n")


PRESENTATIONS = (
    Presentation(name="other names", change=renamed),
    Presentation(name="loss times 1000", change=losses_changed(lambda loss: loss * 1000)),
    Presentation(name="loss divided by 128", change=losses_changed(lambda loss: loss / 128)),
    Presentation(name="10 added to the loss", change=losses_changed(lambda loss: loss + 10)),
    Presentation(name="50 subtracted from the loss", change=losses_changed(lambda loss: loss - 50)),
    Presentation(name="columns in another order", change=reordered),
    Presentation(name="JSON Lines", write=write_jsonl),
    Presentation(name="TensorBoard event files", write=write_events),
    Presentation(name="console output", write=write_console),
    Presentation(name="times in whole seconds", change=whole_seconds),
    Presentation(name="attempts in one CSV file", write=write_joined_csv),
    Presentation(name="attempts in one file, unmarked", write=write_unmarked_csv),
    Presentation(name="cut at both ends", change=cut, exact=False, expected=_if_not_cut),
    Presentation(name="two runs in one file", change=twice, write=write_unmarked_csv, exact=False),
)
SPARSE = (
    Presentation(name="every 10th row", change=every_tenth),
    Presentation(name="means of 10 rows", change=means_of_ten),
)


def findings_in(table: LogTable, write: Callable[[LogTable, Path], None]) -> list[dict[str, Any]]:
    """The findings in a table that is written to files and read again."""
    with tempfile.TemporaryDirectory() as folder:
        write(table, Path(folder))
        return [plain(each.as_json()) for each in find(read_run(Path(folder)).data)]


def compare(
    presentation: Presentation, table: LogTable, original: Sequence[dict[str, Any]]
) -> PresentationScore:
    """The findings in another presentation of a table next to those in the original."""
    found = findings_in(presentation.change(table), presentation.write)
    wanted = [each for finding in original if (each := presentation.expected(finding, table)) is not None]
    score = PresentationScore(runs=1, expected=len(wanted))
    left = list(found)
    near_rows = 0 if presentation.exact else TOLERANCE_ROWS
    spacing = _spacing(table)
    for finding in wanted:
        same = [each for each in left if _identity(each) == _identity(finding)]
        near = [each for each in left if _is_near(each, finding, max(near_rows, 3) * spacing)]
        if same or near:
            chosen = (same or near)[0]
            left.remove(chosen)
            score.same += bool(same)
            score.near += 1
            if not same and presentation.exact:
                score.errors[f"changed {finding['kind']}"] += 1
                score.details.append(f"{presentation.name}: {_identity(finding)} became {_identity(chosen)}")
        else:
            score.errors[f"lost {finding['kind']}"] += 1
            score.details.append(f"{presentation.name}: lost {_identity(finding)}")
    new = [
        finding
        for finding in left
        if (presentation.exact or finding["severity"] != "info")
        and not any(_is_near(finding, each, 20 * spacing, any_attempt=True) for each in original)
    ]
    score.new = len(new)
    score.errors.update(f"new {each['kind']}" for each in new)
    score.details += [f"{presentation.name}: new {_identity(each)}" for each in new]
    return score


def _identity(finding: Mapping[str, Any]) -> tuple[Any, ...]:
    names = ("kind", "severity", "attempt", "start_step", "end_step", "detected_step")
    return tuple(finding[name] for name in names)


def _is_near(
    one: Mapping[str, Any], other: Mapping[str, Any], steps: float, *, any_attempt: bool = False
) -> bool:
    is_same_attempt = any_attempt or one["attempt"] == other["attempt"]
    return (
        is_same_attempt
        and abs(one["start_step"] - other["start_step"]) <= steps
        and _signal(one["kind"]) == _signal(other["kind"])
    )


def _signal(kind: str) -> str:
    is_rise = kind in ("spike_fast", "spike_slow", "spike_unrecovered", "divergence", "outlier_batch")
    return "rise" if is_rise else kind


def _spacing(table: LogTable) -> float:
    step = table.attempts[0]["step"]
    return float(np.median(np.diff(step))) if len(step) > 1 else 1.0


def measure_presentations(folders: Sequence[Path], jobs: int) -> str:
    """A table of all presentations over runs, in Markdown."""
    results = map_in_processes(_compare_all, folders, jobs)
    totals = {each.name: PresentationScore() for each in (*PRESENTATIONS, *SPARSE)}
    for result in results:
        for name, score in result.items():
            totals[name].add(score)
    rows = [
        [each.name, total.runs, total.expected, total.same, total.near, total.new]
        for each in PRESENTATIONS
        if (total := totals[each.name])
    ]
    sparse = [
        [
            each.name,
            total.runs,
            total.expected,
            total.near,
            f"{total.near / max(total.expected, 1):.0%}",
            total.new,
        ]
        for each in SPARSE
        if (total := totals[each.name])
    ]
    errors = [
        f"- {name}: " + ", ".join(f"{error} {count}" for error, count in total.errors.most_common())
        for name, total in totals.items()
        if total.errors
    ]
    return "\n\n".join(
        [
            "Findings of the original that another presentation must have, those that are the same field by "
            "field (kind, severity, attempt, start, end, detection), those that at least start near, and new "
            "ones (of cut and appended runs only warnings and critical ones):",
            format_table(("presentation", "runs", "findings", "same", "found", "new"), rows),
            f"Labelled events longer than {LONG_STEPS} steps that were found in every row, of runs that log "
            "each step:",
            format_table(("presentation", "runs", "events", "found", "share", "new alarms"), sparse),
            "\n".join(errors),
        ]
    )


def _compare_all(folder: Path) -> dict[str, PresentationScore]:
    table = table_of(read_run(folder).data)
    original = findings_in(table, write_csv)
    scores = {each.name: compare(each, table, original) for each in PRESENTATIONS}
    truth = json.loads((folder / "truth.json").read_text())
    if truth["log_schedule"][0][1] == 1:
        scores |= {each.name: _compare_sparse(each, table, truth, original) for each in SPARSE}
    for score in scores.values():
        score.details = [f"{folder.name}: {line}" for line in score.details]
    return scores


def _compare_sparse(
    presentation: Presentation, table: LogTable, truth: dict[str, Any], original: Sequence[dict[str, Any]]
) -> PresentationScore:
    """How many of the long labelled events that are found in every row are found in every tenth."""
    found = findings_in(presentation.change(table), presentation.write)
    dense = read_events(truth)
    sparse = [replace(each, points=10) for each in dense]
    known, again = (
        match(events, [(each, kind) for each in findings if (kind := class_of(each, truth)) in _SCORED])
        for events, findings in ((dense, original), (sparse, found))
    )
    score = PresentationScore(runs=1)
    for number, event in enumerate(dense):
        if number in known and not event.ambiguous and _duration(event, truth) > LONG_STEPS:
            score.expected += 1
            score.near += number in again
            if number not in again:
                score.errors[f"lost {event.kind}"] += 1
                score.details.append(
                    f"{presentation.name}: lost {event.kind} at {event.start} ({event.mechanism})"
                )
    used = set(again.values())
    alarms = [each for each in found if class_of(each, truth) in _SCORED]
    score.new = sum(
        number not in used and not any(event.spans(each, class_of(each, truth)) for event in sparse)
        for number, each in enumerate(alarms)
    )
    return score


_SCORED = tuple(kind for kind in SIGNALS if kind != "straggler")
"""Tables of ranks are not part of these presentations."""


def _duration(event: LabelledEvent, truth: Mapping[str, Any]) -> float:
    lasting = event.kind in ("spike_unrecovered", "divergence", "resume_artifact", "repeated_data")
    return math.inf if lasting else event.last - event.start
