"""The labels of incidents, by which routes, silences and inhibition rules match them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from holter.server.alerting.routing.matchers import LabelSet
from holter.server.models.alerting import IncidentRow
from holter.server.models.points import Project, RunRecord
from holter.server.models.run_details import RunDetailRow
from holter.types import labels_of

NAMES = ("project", "run", "tags", "kind", "severity", "confidence", "metric", "attempt", "incident")
"""Labels of every incident; those of its series come in addition, under their own names."""
_MOST_IDS = 500


def read_labels(session: Session, rows: Sequence[IncidentRow]) -> dict[int, LabelSet]:
    """The labels of these incidents by their numbers."""
    runs = _read_runs(session, {row.run_id for row in rows if row.run_id is not None})
    return {row.id: _labels_of_row(row, runs) for row in rows}


def make_labels(
    *,
    project: str = "",
    run: str = "",
    tags: Sequence[str] = (),
    kind: str = "",
    severity: str = "",
    confidence: float | str = "",
    metric: str = "",
    attempt: int | str = "",
    incident: int | str = "",
    series_labels: Mapping[str, object] | None = None,
    projects: Sequence[str] = (),
) -> LabelSet:
    """Labels of an incident: texts, `confidence` with two decimals (0.97), several values for `tags`.

    A label of the series that has the name of one of these is called `series_NAME`.
    """
    labels: dict[str, tuple[str, ...]] = {}
    for name, value in (series_labels or {}).items():
        labels[f"series_{name}" if name in NAMES else name] = (str(value),)
    own = {
        "project": tuple(projects) or (project,),
        "run": (run,),
        "tags": tuple(tags),
        "kind": (kind,),
        "severity": (severity,),
        "confidence": (f"{confidence:.2f}" if isinstance(confidence, float) else str(confidence),),
        "metric": (metric,),
        "attempt": (str(attempt),),
        "incident": (str(incident),),
    }
    return labels | {name: values for name, values in own.items() if any(values)}


def _labels_of_row(row: IncidentRow, runs: Mapping[int, tuple[str, str, tuple[str, ...]]]) -> LabelSet:
    series = {name: value for name, value in labels_of(row.labels) if name != "steps"}
    common: dict[str, Any] = {
        "kind": row.kind,
        "severity": row.severity,
        "confidence": float(row.confidence),
        "metric": row.metric,
        "attempt": row.attempt,
        "incident": row.id,
        "series_labels": series,
    }
    if row.run_id is not None and row.run_id in runs:
        project, run, tags = runs[row.run_id]
        return make_labels(project=project, run=run, tags=tags, **common)
    if row.run_id is None:  # about agents
        members = row.evidence.get("members") or ()
        projects = sorted({str(member.get("project") or "") for member in members} - {""})
        return make_labels(projects=projects, **common)
    return make_labels(**common)


def _read_runs(session: Session, run_ids: set[int]) -> dict[int, tuple[str, str, tuple[str, ...]]]:
    """Project, name and tags of runs."""
    result = {}
    ordered = sorted(run_ids)
    query = (
        select(RunRecord.id, Project.name, RunRecord.name, RunDetailRow.tags)
        .join(Project, Project.id == RunRecord.project_id)
        .outerjoin(RunDetailRow, RunDetailRow.run_id == RunRecord.id)
    )
    for start in range(0, len(ordered), _MOST_IDS):
        part = ordered[start : start + _MOST_IDS]
        for number, project, run, tags in session.execute(query.where(RunRecord.id.in_(part))):
            result[number] = (project, run, tuple(str(tag) for tag in tags or ()))
    return result
