"""Runs that another tracker keeps, taken into the store: what is new in them each time they are brought."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import msgspec
import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select, update

from holter.server.database import writing
from holter.server.import_export.importer import Arriving, Imported, Into, arrive
from holter.server.import_export.long_table import Rows, batches
from holter.server.maintenance.horizon import DownsamplingHorizon, load_horizon
from holter.server.models import RunRecord
from holter.server.store.keys import batch_digest
from holter.types import NO_CONFIG, Config, ConfigKey, Series, labels_of

LONGEST_RUN = 500
_CLOCK = 1e-6  # seconds: what the store keeps of a wall time


class _Setting(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    labels: dict[str, str]
    value: str | int | float | bool


class _Said(msgspec.Struct, forbid_unknown_fields=True):
    identity: str
    project: str
    run: str
    config: list[_Setting] = []
    over: bool = False
    ended: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """A run of another tracker. `identity` is what tells it from all others for good: "mlflow:" and its id.

    `over`: its tracker takes it for finished, `ended` (Unix seconds) says when.
    """

    identity: str
    project: str
    run: str
    config: Config
    over: bool = False
    ended: float | None = None

    def to_json(self) -> dict[str, Any]:
        """As the head of a file."""
        said = {name: getattr(self, name) for name in ("identity", "project", "run", "over", "ended")}
        config = [
            {"name": key.name, "labels": dict(key.labels), "value": value}
            for key, value in self.config.items()
        ]
        return said | {"config": config}

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> Kept:
        """What `to_json` has made. Raises ValueError naming the field."""
        found = msgspec.convert(said, _Said)
        config = {ConfigKey(one.name, labels_of(one.labels)): one.value for one in found.config}
        return cls(
            identity=found.identity, project=found.project, run=found.run, config=config, over=found.over,
            ended=found.ended,
        )  # fmt: skip


def names(kept: Kept) -> Iterator[str]:
    """What the run is called here: its tracker's name for it; where another run has that, with its id."""
    short = kept.identity.rpartition(":")[2].rpartition("/")[2]
    for ending in ("", f" {short[:8]}", f" {batch_digest(kept.identity).hex()[:12]}"):
        yield kept.run[: LONGEST_RUN - len(ending)] + ending


def take_kept(
    into: Into, kept: Kept, portions: Iterator[Rows], *, project: str | None = None
) -> Iterator[Imported]:
    """Store what is new among the points of a run; yields how far it has come, the last one `whole`.

    What is stored already is recognised by comparing, so that an import that was cut short goes on, and the
    source may be moved. Raises ValueError, StoreError.
    """
    home = _home(into, kept, project or kept.project)
    points = known = 0
    begun: set[int] = set()
    with into.apart(home.id):
        horizon = None if home.fresh else load_horizon(into.engine, home.id)
        for rows in portions:
            new = rows if home.fresh else _new(into, home.id, rows, horizon)
            known += len(rows.step) - len(new.step)
            for attempt, batch in batches(new):
                config = NO_CONFIG if attempt in begun else kept.config
                begun.add(attempt)
                home.take(replace(batch, config=config), uuid4().hex)
                points += batch.points
            yield home.so_far(points, known)
        if points:
            home.compact()
        with writing(into.engine) as connection:
            home.whole(connection)
            if kept.over:
                _end(connection, home.id, kept.ended)
    yield home.so_far(points, known, whole=True)


def _home(into: Into, kept: Kept, project: str) -> Arriving:
    for name in names(kept):
        found = arrive(into, project, name, kept.identity)
        if found is not None:
            return found
    raise ValueError(f"there is another run {project}/{name} already")


def _end(connection: Connection, run_id: int, ended: float | None) -> None:
    """Say when the run ended, where its tracker does."""
    mine = RunRecord.id == run_id
    newest = connection.execute(select(RunRecord.updated_at, RunRecord.finished_at).where(mine)).one()
    moment = ended or newest.finished_at or newest.updated_at
    connection.execute(update(RunRecord).where(mine).values(finished_at=moment))


def _new(into: Into, run_id: int, rows: Rows, horizon: DownsamplingHorizon | None) -> Rows:
    """The points that the store does not have as they are. What was thinned away there does not come back."""
    if not len(rows.step):
        return rows
    first, last = int(rows.step.min()), int(rows.step.max())
    stored = into.store.read(run_id, rows.keys, from_step=first, to_step=last)
    fresh = np.ones(len(rows.step), dtype=bool)
    for place, key in enumerate(rows.keys):
        if (known := stored.get(key)) is not None and len(known):
            ours = np.flatnonzero(rows.which == place)
            fresh[ours] = ~_same(rows, ours, known)
    if horizon is not None:
        fresh &= (rows.attempt > horizon.attempt) | (
            (rows.attempt == horizon.attempt) & (rows.step >= horizon.full_from)
        )
    return _part(rows, fresh)


def _part(rows: Rows, which: NDArray[np.bool_]) -> Rows:
    columns = {name: getattr(rows, name)[which] for name in ("which", "attempt", "step", "time", "value")}
    return Rows(keys=rows.keys, **columns)


def _same(rows: Rows, ours: NDArray[np.int64], known: Series) -> NDArray[np.bool_]:
    """Which of our points stand in the stored series with the same value, bit by bit, and time."""
    same = np.zeros(len(ours), dtype=bool)
    for attempt in np.unique(rows.attempt[ours]).tolist():
        first, after = np.searchsorted(known.attempt, (attempt, attempt + 1)).tolist()
        if first == after:
            continue
        mine = np.flatnonzero(rows.attempt[ours] == attempt)
        at = ours[mine]
        place = first + np.minimum(np.searchsorted(known.step[first:after], rows.step[at]), after - first - 1)
        value, time = known.value[place], known.time[place]
        same_value = value.view(np.int64) == rows.value[at].view(np.int64)
        same_value |= np.isnan(value) & np.isnan(rows.value[at])
        same_time = np.abs(time - rows.time[at]) <= _CLOCK
        same_time |= np.isnan(time) & np.isnan(rows.time[at])
        same[mine] = (known.step[place] == rows.step[at]) & same_value & same_time
    return same
