"""Reads what comparisons need of each run: its series, attempts, settings, and its x axis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from holter.attempts.config import ConfigByAttempt, newest_settings
from holter.config_keys import is_called
from holter.detectors.compare.axes import UNITS, AxisSource, StepMap, XAxis, step_map
from holter.detectors.compare.run_diff import step_sizes_differ
from holter.roles import Role
from holter.server.read_models.runs import RunReader
from holter.server.schemas.compare import ComparedAttempt, ComparedRun, RunAxis
from holter.server.store import AttemptSummary, ReadMemory, SeriesSummary, Store
from holter.server.store.cache import LruCache
from holter.tuning import Tuning
from holter.types import FloatArray, Series, SeriesKey

MAX_RUNS = 50
"""Runs of one comparison at most."""
_CACHE_BYTES = 32 * 2**20
_ANCHOR_BYTES = 16


@dataclass(frozen=True, kw_only=True)
class StoredRun:
    """One run of a comparison, read on demand. `id` is the store's, `public_id` that of addresses."""

    id: int
    public_id: str
    project: str
    name: str
    version: tuple[int, int]
    store: Store
    tuning: Tuning

    @cached_property
    def summaries(self) -> Sequence[SeriesSummary]:
        """The run's series, with the roles that its project's settings give them."""
        stored = self.store.series(self.id)
        if not self.tuning.metrics:
            return stored
        return [each._replace(key=self.tuning.with_role(each.key)) for each in stored]

    @cached_property
    def attempts(self) -> Sequence[AttemptSummary]:
        """The run's attempts."""
        return self.store.attempts(self.id)

    @cached_property
    def config(self) -> ConfigByAttempt:
        """The run's settings by attempt."""
        return self.store.config(self.id)

    @property
    def start(self) -> float | None:
        """Unix seconds of the first point; None without a clock."""
        return min((each.first_time for each in self.attempts if each.first_time is not None), default=None)

    def read(self, key: SeriesKey) -> Series:
        """All points of one of its series."""
        return self.store.read(self.id, [key])[key]

    def read_values(self, key: SeriesKey, memory: ReadMemory | None = None) -> Series:
        """The same without times, which are NaN: in half the time. See `Store.read_values`."""
        return self.store.read_values(self.id, key, memory)

    def role(self, key: SeriesKey) -> Role:
        """The role of one of its series."""
        return self.tuning.role(key)

    def group(self, setting: str | None) -> str | None:
        """The newest value of the setting that is called so, as text; None where it has none."""
        if setting is None:
            return None
        settings = newest_settings(self.config)
        exact = settings.get(setting)
        if exact is not None:
            return str(exact)
        values = {str(value) for name, value in settings.items() if is_called(name, setting)}
        return " / ".join(sorted(values)) if values else None


class RunAccess:
    """Finds runs by their public ids, and places their points on axes; axes are cached by version."""

    def __init__(self, runs: RunReader, store: Store, tuning: Callable[[str], Tuning]) -> None:
        self._runs = runs
        self._store = store
        self._tuning = tuning
        self._axes = LruCache(_CACHE_BYTES)

    def runs(self, public_ids: Iterable[str]) -> list[StoredRun]:
        """These runs, in order and each once. Raises UnknownRunError."""
        return [
            StoredRun(**run._asdict(), store=self._store, tuning=self._tuning(run.project))
            for run in self._runs.identities(public_ids)
        ]

    def axis(self, run: StoredRun, axis: XAxis) -> StepMap:
        """How the points of a run are placed on an axis."""
        key = ("axis", run.id, axis)
        cached = self._axes.get(key)
        if cached is None or cached[0] != run.version:
            keys = [each.key for each in run.summaries]
            found = step_map(axis, keys, run.read, run.config, run.start)
            size = _ANCHOR_BYTES * sum(len(steps) for steps, _ in found.anchors.values())
            cached = run.version, found
            self._axes.put(key, cached, size)
        stored: StepMap = cached[1]
        return stored

    def common_axis(self, runs: Sequence[StoredRun]) -> tuple[XAxis, list[StepMap]]:
        """Tokens or samples where a step of the runs means different amounts of them; steps otherwise."""
        for axis in (XAxis.TOKENS, XAxis.SAMPLES):
            maps = [self.axis(run, axis) for run in runs]
            if step_sizes_differ(maps):
                return axis, maps
        return XAxis.STEP, [self.axis(run, XAxis.STEP) for run in runs]


def run_axis(axis: StepMap) -> RunAxis:
    """An axis as REST states it."""
    return {
        "name": axis.axis,
        "unit": UNITS[axis.axis],
        "source": axis.source,
        "metric": axis.metric,
        "formula": axis.formula,
        "reason": axis.reason,
    }


def compared_run(run: StoredRun, axis: StepMap, group_by: str | None = None) -> ComparedRun:
    """A run as REST states it."""
    return {
        "id": run.public_id,
        "project": run.project,
        "name": run.name,
        "group": run.group(group_by),
        "axis": run_axis(axis),
        "attempts": [_compared_attempt(each, axis) for each in run.attempts],
    }


def _compared_attempt(attempt: AttemptSummary, axis: StepMap) -> ComparedAttempt:
    steps = np.array([attempt.first_step, attempt.last_step])
    times = np.array([np.nan if each is None else each for each in (attempt.first_time, attempt.last_time)])
    first, last = finite_list(axis.x(attempt.number, steps, times))
    return {
        "number": attempt.number,
        "first_step": attempt.first_step,
        "last_step": attempt.last_step,
        "first_x": first,
        "last_x": last,
    }


def finite_list(values: FloatArray) -> list[float | None]:
    """Numbers as a list, with None for NaN and infinities."""
    return [value if np.isfinite(value) else None for value in values.tolist()]


__all__ = ["MAX_RUNS", "AxisSource", "RunAccess", "StoredRun", "compared_run", "finite_list", "run_axis"]
