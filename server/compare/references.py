"""Reference runs of projects: pinned or chosen by similarity, and how later runs compare with them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from sqlalchemy import Engine, bindparam, select
from sqlalchemy.orm import Session

from holter.config_keys import common_names
from holter.detectors.compare.axes import StepMap, XAxis
from holter.detectors.compare.course import Course, CourseCheck, check_course, check_number, points_of_check
from holter.detectors.compare.curves import curve_of
from holter.detectors.compare.figures import representative, surviving
from holter.detectors.compare.settings import SettingCategory, category_of, settings_of_run
from holter.detectors.compare.significance import Curve
from holter.detectors.compare.words import describe_x
from holter.detectors.findings import finding_type
from holter.roles import Role
from holter.server.compare.run_access import RunAccess, StoredRun
from holter.server.database import reading, writing
from holter.server.models import Project, RunRecord
from holter.server.models.references import ReferenceRow
from holter.server.reference_checks import ReferenceChecks, WorseEpisode
from holter.server.store.cache import LruCache
from holter.server.store.write.sql import upsert
from holter.settings.projects import ReferenceSettings
from holter.types import Finding, Kind, Series, Severity

_logger = logging.getLogger(__name__)

_CURVE_BYTES = 64 * 2**20
_MAX_REFERENCES = 5
"""References that a run is compared with: the newest pinned ones."""
_MAX_CANDIDATES = 30
"""Runs among which a reference is chosen by similarity: the newest ones before the run."""
_LEAST_SIMILARITY = 0.9
"""Share of equal settings from which on a run may serve as a reference."""
_SECONDS = 20.0
"""Seconds for which the references of a run are remembered."""
# built once, since every analysis pass runs it
_NAMES = (
    select(RunRecord.public_id, Project.name)
    .join(Project, Project.id == RunRecord.project_id)
    .where(RunRecord.id == bindparam("run"))
)
_TRAINING = frozenset({SettingCategory.CONFIGURATION, SettingCategory.LAUNCH})


class ReferenceRuns:
    """Pins references, and compares runs with them as they grow.

    A comparison takes place when a run has 19 % more points than at the one before, and costs some
    milliseconds: `findings` is called with each analysis pass, and otherwise returns what it found before.
    """

    def __init__(
        self,
        engine: Engine,
        access: RunAccess,
        settings: Callable[[str], ReferenceSettings],
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._engine = engine
        self._access = access
        self._settings = settings
        self._clock = clock
        self._curves = LruCache(_CURVE_BYTES)
        self._lock = threading.Lock()
        self._chosen: dict[int, tuple[float, list[str]]] = {}

    def pin(self, run_id: int, *, by: str | None) -> None:
        """Make a run a reference of its project."""
        self._save_pin(run_id, self._clock(), by)

    def unpin(self, run_id: int) -> None:
        """Make a run no longer a reference; it is no error if it was none."""
        self._save_pin(run_id, None, None)

    def _save_pin(self, run_id: int, at: float | None, by: str | None) -> None:
        with Session(self._engine) as session, session.begin():
            row = session.get(ReferenceRow, run_id)
            if row is None:
                session.add(ReferenceRow(run_id=run_id, pinned_at=at, pinned_by=by, checks={}))
            else:
                row.pinned_at, row.pinned_by = at, by
        with self._lock:
            self._chosen.clear()

    def pinned(self, project: str) -> list[tuple[str, str, float, str | None]]:
        """Public id, name, time and author of the pins of a project, the newest first."""
        query = (
            select(RunRecord.public_id, RunRecord.name, ReferenceRow.pinned_at, ReferenceRow.pinned_by)
            .join(ReferenceRow, ReferenceRow.run_id == RunRecord.id)
            .join(Project, Project.id == RunRecord.project_id)
            .where(
                Project.name == project, ReferenceRow.pinned_at.is_not(None), RunRecord.deleted_at.is_(None)
            )
            .order_by(ReferenceRow.pinned_at.desc(), RunRecord.id)
        )
        with Session(self._engine) as session:
            return [(public_id, name, at or 0.0, by) for public_id, name, at, by in session.execute(query)]

    def findings(self, run_id: int, series: Iterable[Series]) -> list[Finding]:
        """The findings about a run against its references; none, and a line in the log, where that fails."""
        try:
            own = {each.key: each for each in series}
            key = representative({each.key: len(each) for each in own.values()}, Role.LOSS)
            if key is None or check_number(len(own[key])) < 0:
                return []
            name, project = self._names(run_id)
            references = self._references(run_id, project)
            if not references:
                return []
            checks = self._update(run_id, name, own[key], references, self._checks(run_id))
            severity = self._settings(project).severity
            return [_finding(each, severity) for each in checks.episodes]
        except Exception:  # must not stop the detectors' own findings
            _logger.exception("run %s could not be compared with its references", run_id)
            return []

    def _names(self, run_id: int) -> tuple[str, str]:
        with reading(self._engine) as connection:
            public_id, project = connection.execute(_NAMES, {"run": run_id}).one()
        return public_id, project

    def _checks(self, run_id: int) -> ReferenceChecks:
        with Session(self._engine) as session:
            return ReferenceChecks.from_json(
                session.scalar(select(ReferenceRow.checks).where(ReferenceRow.run_id == run_id))
            )

    def _references(self, run_id: int, project: str) -> list[str]:
        """The ids of a run's references: pinned ones, or the most similar one where settings allow it."""
        with self._lock:
            remembered = self._chosen.get(run_id)
        if remembered is not None and time.monotonic() - remembered[0] < _SECONDS:
            return remembered[1]
        public_id, _ = self._names(run_id)
        chosen = [each for each, *_ in self.pinned(project) if each != public_id][:_MAX_REFERENCES]
        if not chosen and self._settings(project).choose == "similar":
            chosen = self._most_similar(run_id, project)
        with self._lock:
            self._chosen[run_id] = time.monotonic(), chosen
        return chosen

    def _most_similar(self, run_id: int, project: str) -> list[str]:
        """The earlier run of the project with the most equal settings, if it has enough of them."""
        query = (
            select(RunRecord.public_id)
            .join(Project, Project.id == RunRecord.project_id)
            .where(Project.name == project, RunRecord.id < run_id, RunRecord.deleted_at.is_(None))
            .order_by(RunRecord.id.desc())
            .limit(_MAX_CANDIDATES)
        )
        with Session(self._engine) as session:
            candidates = list(session.scalars(query))
        (own,) = self._access.runs([self._names(run_id)[0]])
        settings = _training_settings(own)
        ranked = [
            (similarity(settings, _training_settings(each)), -position, each.public_id)
            for position, each in enumerate(self._access.runs(candidates))
        ]
        best = max(ranked, default=None)
        return [best[2]] if best is not None and best[0] >= _LEAST_SIMILARITY else []

    def _update(
        self, run_id: int, public_id: str, loss: Series, references: Sequence[str], checks: ReferenceChecks
    ) -> ReferenceChecks:
        """The checks after a further comparison, where one is due; stored if anything changed."""
        number = check_number(len(loss))
        if number == checks.number and tuple(references) == checks.references:
            return checks
        (run,) = self._access.runs([public_id])
        others = self._access.runs(references)
        axis, maps = self._access.common_axis([run, *others])
        curve = curve_of(loss, maps[0])
        number = check_number(len(curve.x))
        if number < 0:
            return checks
        curves = [
            self._reference_curve(each, on_axis) for each, on_axis in zip(others, maps[1:], strict=True)
        ]
        check = check_course(curve, curves, number)
        updated = _after(check, checks, loss, curve, axis, others, number)
        updated = replace(updated, checked_at=self._clock())
        row = {"run_id": run_id, "checks": updated.as_json()}
        with writing(self._engine) as connection:
            upsert(connection, ReferenceRow.__table__, ("run_id",), [row])
        return updated

    def _reference_curve(self, run: StoredRun, axis: StepMap) -> Curve:
        cached = self._curves.get((run.id, axis.axis))
        if cached is None or cached[0] != run.version:
            key = representative({each.key: each.points for each in run.summaries}, Role.LOSS, run.role)
            curve = Curve.empty() if key is None else curve_of(run.read(key), axis)
            cached = run.version, curve
            self._curves.put((run.id, axis.axis), cached, curve.x.nbytes + curve.value.nbytes)
        stored: Curve = cached[1]
        return stored


def similarity(first: dict[str, str], second: dict[str, str]) -> float:
    """The share of the settings of two runs that are equal; 0 without settings."""
    names = first.keys() | second.keys()
    return sum(first.get(name) == second.get(name) for name in names) / len(names) if names else 0.0


def _training_settings(run: StoredRun) -> dict[str, str]:
    settings = settings_of_run(run.config)
    names = common_names(settings)
    return {
        common: str(settings[own])
        for own, common in names.items()
        if common != "seed" and category_of(common) in _TRAINING
    }


def _after(
    check: CourseCheck,
    before: ReferenceChecks,
    loss: Series,
    curve: Curve,
    axis: XAxis,
    references: Sequence[StoredRun],
    number: int,
) -> ReferenceChecks:
    """The checks after a comparison: the new course, and a begun, continued or ended episode."""
    steps, _ = surviving(loss)

    def step_of(x: float) -> int:
        index = min(int(curve.x.searchsorted(x)), len(steps) - 1)
        return int(steps[index])

    difference = check.difference
    at_step = step_of(float(curve.x[min(points_of_check(number), len(curve.x)) - 1]))
    names = tuple(f"{each.project}/{each.name}" for each in references)
    shares = (
        (None, None, None)
        if difference is None
        else tuple(
            difference.relative(each) for each in (difference.difference, difference.low, difference.high)
        )
    )
    since = None
    if difference is not None and check.course in (Course.WORSE, Course.BETTER):
        since = step_of(difference.from_x if difference.since_x is None else difference.since_x)
    if before.course is check.course and before.since_step is not None and since is not None:
        since = before.since_step  # the beginning does not move while it lasts
    sentence = _sentence(check, names, axis, since, shares[0])
    episodes = list(before.episodes)
    lasting = bool(episodes) and episodes[-1].end_step is None
    if check.course is Course.WORSE and since is not None:
        begun = episodes.pop() if lasting else None
        episodes.append(
            WorseEpisode(
                metric=str(loss.key.metric),
                attempt=int(loss.attempt[-1]),
                start_step=since if begun is None else begun.start_step,
                detected_step=at_step if begun is None else begun.detected_step,
                end_step=None,
                references=names,
                axis=axis.value,
                relative=shares[0],
                relative_low=shares[1],
                relative_high=shares[2],
                summary=sentence,
            )
        )
    elif lasting:
        episodes[-1] = replace(episodes[-1], end_step=at_step)
    return ReferenceChecks(
        number=number,
        references=tuple(each.public_id for each in references),
        names=names,
        course=check.course,
        axis=axis.value,
        at_step=at_step,
        since_step=since,
        relative=shares[0],
        relative_low=shares[1],
        relative_high=shares[2],
        sentence=sentence,
        episodes=tuple(episodes),
    )


def _sentence(
    check: CourseCheck, names: Sequence[str], axis: XAxis, since: int | None, relative: float | None
) -> str:
    which = f"the reference {names[0]}" if len(names) == 1 else f"each of {len(names)} references"
    aligned = "" if axis is XAxis.STEP else f", at equal {axis.value}"
    if check.difference is None or relative is None:
        return f"It has too few points in common with {which} to be compared."
    if check.course is Course.ON_COURSE:
        at = describe_x(check.difference.to_x, axis)
        return f"The loss is on course: {100 * relative:+.1f} % beside {which} at {at}{aligned}."
    word = "higher" if check.course is Course.WORSE else "lower"
    began = "" if since is None else f" since step {since:,}"
    return f"The loss is {100 * abs(relative):.1f} % {word} than that of {which}{began}{aligned}."


def _finding(episode: WorseEpisode, severity: Severity) -> Finding:
    return Finding(
        kind=Kind.WORSE_THAN_REFERENCE,
        metric=episode.metric,
        attempt=episode.attempt,
        start_step=episode.start_step,
        detected_step=episode.detected_step,
        classified_step=episode.detected_step,
        end_step=episode.end_step,
        severity=severity,
        confidence=0.99,
        summary=episode.summary,
        advice=finding_type(Kind.WORSE_THAN_REFERENCE).advice,
        evidence={
            "reference": list(episode.references),
            "difference": episode.relative,
            "difference_low": episode.relative_low,
            "difference_high": episode.relative_high,
            "aligned_by": episode.axis,
        },
    )
