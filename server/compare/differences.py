"""What differs between runs: settings, figures and incidents, in tables and sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from holter.detectors.compare.axes import XAxis
from holter.detectors.compare.figures import (
    ComparedValue,
    RunFigures,
    RunSeries,
    compare_figures,
    measure_run,
)
from holter.detectors.compare.settings import SettingDifference, compare_settings, settings_of_run
from holter.detectors.compare.words import (
    describe_environment,
    describe_incidents,
    describe_settings,
    describe_speed,
)
from holter.detectors.findings import title_of
from holter.server.compare.run_access import RunAccess, StoredRun, compared_run
from holter.server.compare.statistics import READERS, StatisticsReader
from holter.server.models import IncidentRow
from holter.server.schemas.compare import (
    ComparedFigure,
    CompareDifferences,
    ComparedIncidents,
    ComparedSetting,
    ComparisonSummary,
)
from holter.server.store.cache import LruCache
from holter.types import Severity

_CACHE_BYTES = 4 * 2**20
_FIGURE_BYTES = 2000


class DifferenceReader:
    """Compares settings, figures and incidents of stored runs."""

    def __init__(self, engine: Engine, access: RunAccess, statistics: StatisticsReader) -> None:
        self._engine = engine
        self._access = access
        self._statistics = statistics
        self._cache = LruCache(_CACHE_BYTES)

    def differences(
        self, public_ids: Sequence[str], *, baseline: str | None, axis: XAxis
    ) -> CompareDifferences:
        """All differences of the runs, and a summary of each against the baseline. Raises UnknownRunError."""
        runs = self._access.runs(public_ids)
        base = next(
            index for index, run in enumerate(runs) if run.public_id == (baseline or runs[0].public_id)
        )
        settings = compare_settings([settings_of_run(run.config) for run in runs])
        figures = self._figures(runs)
        incidents = self._incidents(runs)
        counts = {each["kind"]: each["counts"] for each in incidents}
        statistics = self._statistics.statistics(
            public_ids, baseline=runs[base].public_id, axis=axis, metric=None
        )
        losses = {each["run"]: each["sentence"] for each in statistics["comparisons"]}
        summaries: list[ComparisonSummary] = [
            {
                "run": run.public_id,
                "configuration": describe_settings(settings, index, base),
                "environment": describe_environment(settings, index, base),
                "speed": describe_speed(figures, index, base),
                "loss": losses[run.public_id],
                "incidents": describe_incidents(counts, index, base),
            }
            for index, run in enumerate(runs)
            if index != base
        ]
        return {
            "baseline": runs[base].public_id,
            "common_x": self._access.common_axis(runs)[0],
            "runs": [compared_run(run, self._access.axis(run, axis)) for run in runs],
            "settings": [_setting(each) for each in settings.differences],
            "equal_settings": settings.equal,
            "figures": [_figure(each) for each in figures],
            "incidents": incidents,
            "summaries": summaries,
            "text": _as_text(runs, base, summaries),
        }

    def _figures(self, runs: Sequence[StoredRun]) -> list[ComparedValue]:
        with ThreadPoolExecutor(READERS) as pool:
            return compare_figures(list(pool.map(self._figures_of, runs)))

    def _figures_of(self, run: StoredRun) -> RunFigures:
        """The figures of a run, cached by version: most of them take reading a series in full."""
        key = run.id, run.version
        cached: RunFigures | None = self._cache.get(key)
        if cached is None:
            cached = measure_run(_run_series(run))
            self._cache.put(key, cached, _FIGURE_BYTES)
        return cached

    def _incidents(self, runs: Sequence[StoredRun]) -> list[ComparedIncidents]:
        """The number of incidents of each kind in each run."""
        query = select(IncidentRow.run_id, IncidentRow.kind, IncidentRow.severity)
        query = query.where(IncidentRow.run_id.in_([run.id for run in runs]))
        position = {run.id: index for index, run in enumerate(runs)}
        by_kind: dict[str, ComparedIncidents] = {}
        with Session(self._engine) as session:
            for run_id, kind, severity in session.execute(query):
                if run_id is None:
                    continue
                entry = by_kind.setdefault(
                    kind,
                    {
                        "kind": kind,
                        "title": title_of(kind),
                        "severity": Severity(severity),
                        "counts": [0] * len(runs),
                    },
                )
                entry["counts"][position[run_id]] += 1
                entry["severity"] = max(entry["severity"], Severity(severity), key=lambda each: each.rank)
        return sorted(by_kind.values(), key=lambda each: (-Severity(each["severity"]).rank, each["kind"]))


def _run_series(run: StoredRun) -> RunSeries:
    steps = [attempt.last_step for attempt in run.attempts]
    times = [
        each
        for attempt in run.attempts
        for each in (attempt.first_time, attempt.last_time)
        if each is not None
    ]
    stated: Mapping[str, float | None] = {
        "last_step": float(steps[-1]) if steps else None,
        "duration": max(times) - min(times) if times else None,
        "attempts": float(len(run.attempts)),
    }
    return RunSeries(
        points={each.key: each.points for each in run.summaries},
        read=run.read_values,
        role=run.role,
        stated=stated,
    )


def _setting(difference: SettingDifference) -> ComparedSetting:
    return {
        "name": difference.name,
        "category": difference.category,
        "names": list(difference.names),
        "values": list(difference.values),
        "folded": difference.folded,
    }


def _figure(value: ComparedValue) -> ComparedFigure:
    return {
        "name": value.name,
        "title": value.title,
        "unit": value.unit,
        "better": value.better,
        "values": list(value.values),
    }


def _as_text(runs: Sequence[StoredRun], base: int, summaries: Sequence[ComparisonSummary]) -> str:
    """The summaries as plain text, to be copied."""
    names = {run.public_id: f"{run.project}/{run.name}" for run in runs}
    baseline = names[runs[base].public_id]
    parts = [
        "\n".join(
            (
                f"{names[each['run']]} compared with {baseline}",
                f"  configuration: {each['configuration']}",
                f"  environment:   {each['environment']}",
                f"  speed:         {each['speed']}",
                f"  loss:          {each['loss']}",
                f"  incidents:     {each['incidents']}",
            )
        )
        for each in summaries
    ]
    return "\n\n".join(parts)
