"""What clients send of runs, as rows of numbers by run: a call may have rows of several runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import nan
from typing import Any, NamedTuple

from holter.ingest.json_objects import json_number
from holter.ingest.step_columns import LARGEST_STEP
from holter.ingest.trackers.trackio import unix_time
from holter.server.ingest_http.validate import MAX_LONG_NAME_LENGTH
from holter.server.store.keys import storable_text

_CREATED = "_Created"
"""The setting with the time at which the client began the launch."""
_MAX_DEPTH = 20
_MAX_ID = 200


class RunName(NamedTuple):
    """How clients name a run: project, name, and the id that stays the same when the run is resumed."""

    project: str
    name: str
    id: str


class LoggedRow(NamedTuple):
    """One call of `trackio.log`: the client's counter, Unix seconds (NaN: just logged), numbers, an id."""

    counter: int
    time: float
    values: dict[str, float]
    id: str


@dataclass(slots=True)
class RunEntries:
    """The rows of one run in a call; `config` where a launch begins, `created` is its time in Unix seconds.

    `has_media`: there were images, tables and the like among the values. `problems`: what could not be read.
    """

    rows: list[LoggedRow] = field(default_factory=list)
    config: Mapping[str, Any] | None = None
    created: float | None = None
    has_media: bool = False
    problems: list[str] = field(default_factory=list)


def run_name(entry: Mapping[str, Any]) -> RunName:
    """The run of an entry; its id is its name where clients send none."""
    texts = [entry.get(name) for name in ("project", "run", "run_id")]
    project, name, run_id = (storable_text(text) if isinstance(text, str) else "" for text in texts)
    return RunName(project, name or run_id, (run_id or name)[:_MAX_ID])


def metric_entries(entries: Iterable[Mapping[str, Any]]) -> dict[RunName, RunEntries]:
    """The rows of `trackio.log`. Rows that the client could not send at first have a time."""
    runs: dict[RunName, RunEntries] = {}
    for entry in entries:
        run = runs.setdefault(run_name(entry), RunEntries())
        _read_config(entry.get("config"), run)
        step = entry.get("step")
        if not isinstance(step, int) or isinstance(step, bool) or abs(step) > LARGEST_STEP:
            run.problems.append(f"expected a whole number as step, found {str(step)[:40]!r}")
            continue
        time = unix_time(entry.get("timestamp"))
        run.rows.append(LoggedRow(step, nan if time is None else time, _values(entry, run), _row_id(entry)))
    return runs


def system_entries(entries: Iterable[Mapping[str, Any]]) -> dict[RunName, RunEntries]:
    """The rows of `trackio.log_system`, which have a time and no step."""
    runs: dict[RunName, RunEntries] = {}
    for entry in entries:
        run = runs.setdefault(run_name(entry), RunEntries())
        time = unix_time(entry.get("timestamp"))
        if time is None:
            run.problems.append(f"expected a time in ISO 8601, found {str(entry.get('timestamp'))[:40]!r}")
            continue
        run.rows.append(LoggedRow(0, time, _values(entry, run), _row_id(entry)))
    return runs


def _read_config(config: object, run: RunEntries) -> None:
    if isinstance(config, dict) and config:
        run.config, run.created = config, unix_time(config.get(_CREATED))


def _row_id(entry: Mapping[str, Any]) -> str:
    value = entry.get("log_id")
    return value[:_MAX_ID] if isinstance(value, str) else ""


def _values(entry: Mapping[str, Any], run: RunEntries) -> dict[str, float]:
    metrics = entry.get("metrics")
    values: dict[str, float] = {}
    for name, value in _numbers("", metrics if isinstance(metrics, dict) else {}, run, 0):
        if 0 < len(name) <= MAX_LONG_NAME_LENGTH:
            values[name] = value
        else:
            run.problems.append(f"expected names of 1 to {MAX_LONG_NAME_LENGTH} characters")
    return values


def _numbers(
    prefix: str, metrics: Mapping[str, Any], run: RunEntries, depth: int
) -> Iterator[tuple[str, float]]:
    for key, value in metrics.items():
        if isinstance(value, dict):
            if "_type" in value:
                run.has_media = True
            elif depth < _MAX_DEPTH:
                yield from _numbers(f"{prefix}{key}/", value, run, depth + 1)
        elif isinstance(value, list):
            run.has_media = True  # of images or traces; lists of numbers are no metric either
        elif (number := json_number(value)) is not None:
            yield storable_text(prefix + key), number
