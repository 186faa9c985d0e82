"""The status of a run for its client, and requests to save a checkpoint, which the client answers."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from holter.detectors.findings import title_of
from holter.server.models import IncidentRow, Project, RunRecord
from holter.server.run_details import RunDetailStore
from holter.server.schemas.client_status import ClientStatus, PendingRequest, SaveRequest
from holter.types import Kind, Severity

SHOWN_INCIDENTS = 20
RELAUNCH_SECONDS = 60.0
"""A request this much older than a client has ended with an earlier launch."""
_SAVE_ATTRIBUTE = "holter.save_request"


@dataclass(frozen=True, kw_only=True, slots=True)
class SavedReport:
    """A client has saved the checkpoint that was requested at this time."""

    requested_at: float
    step: int | None
    seconds: float | None


class _StatusRun(NamedTuple):
    id: int
    public_id: str


class ClientStatusReader:
    """Answers clients about their own run and applies their reports."""

    def __init__(
        self, engine: Engine, details: RunDetailStore, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._engine = engine
        self._details = details
        self._clock = clock

    def poll(
        self, project: str, run: str, *, age: float, saved: SavedReport | None, stopping: bool
    ) -> tuple[ClientStatus, bool]:
        """The status of a run, and whether a report of the client changed it.

        `age`: seconds since the client opened the run; requests from before concern earlier launches.
        """
        with Session(self._engine) as session:
            found = session.execute(
                select(RunRecord.id, RunRecord.public_id)
                .join(Project, RunRecord.project_id == Project.id)
                .where(Project.name == project, RunRecord.name == run)
            ).one_or_none()
            if found is None:
                return _NO_RUN, False
            known = _StatusRun(*found)
            incidents = session.execute(
                select(
                    IncidentRow.id,
                    IncidentRow.kind,
                    IncidentRow.severity,
                    IncidentRow.metric,
                    IncidentRow.start_step,
                ).where(IncidentRow.run_id == known.id, IncidentRow.state == "open")
            ).all()
        opened = self._clock() - age
        save, is_saved = self._save(known.id, opened, saved)
        stop, is_stopped = self._stop(known.id, opened, stopping)
        ranked = sorted(incidents, key=lambda row: (-Severity(row.severity).rank, -row.start_step, row.id))
        status: ClientStatus = {
            "run_id": known.public_id,
            "incidents": [
                {
                    "id": row.id,
                    "kind": row.kind,
                    "title": title_of(Kind(row.kind), row.metric),
                    "severity": Severity(row.severity),
                    "metric": row.metric,
                    "step": row.start_step,
                }
                for row in ranked[:SHOWN_INCIDENTS]
            ],
            "incident_count": len(ranked),
            "worst": Severity(ranked[0].severity) if ranked else None,
            "stop": stop,
            "save": save,
        }
        return status, is_saved or is_stopped

    def _stop(self, run_id: int, opened: float, stopping: bool) -> tuple[PendingRequest | None, bool]:
        details = self._details.details(run_id)
        requested = details.stop_requested_at
        if not details.stop_pending or requested is None:
            return None, False
        if stopping or requested < opened - RELAUNCH_SECONDS:
            self._details.update(run_id, stopped_at=self._clock())
            return None, True
        if requested < opened:
            return None, False
        return {
            "requested_at": requested,
            "by": details.stop_requested_by,
            "reason": details.stop_reason,
        }, False

    def _save(
        self, run_id: int, opened: float, saved: SavedReport | None
    ) -> tuple[PendingRequest | None, bool]:
        request = read_save_request(self._details, run_id)
        if request is None or request["saved_at"] is not None:
            return None, False
        if saved is not None and saved.requested_at == request["requested_at"]:
            request |= {
                "saved_at": self._clock(),
                "saved_step": saved.step,
                "saved_seconds": saved.seconds,
            }
            self._write_save(run_id, request)
            return None, True
        if request["requested_at"] < opened:
            return None, False
        pending: PendingRequest = {
            "requested_at": request["requested_at"],
            "by": request["by"],
            "reason": request["reason"],
        }
        return pending, False

    def request_save(self, run_id: int, *, by: str | None = None, reason: str | None = None) -> None:
        """Ask the run's client to save a checkpoint. A request that is pending stays as it is."""
        request = read_save_request(self._details, run_id)
        if request is None or request["saved_at"] is not None:
            now = self._clock()
            self._write_save(
                run_id,
                {
                    "requested_at": now,
                    "by": by,
                    "reason": reason,
                    "saved_at": None,
                    "saved_step": None,
                    "saved_seconds": None,
                },
            )

    def withdraw_save(self, run_id: int) -> None:
        """Forget the request to save a checkpoint."""
        self._details.remove_attributes(run_id, [_SAVE_ATTRIBUTE])

    def _write_save(self, run_id: int, request: SaveRequest) -> None:
        self._details.set_attributes(run_id, {_SAVE_ATTRIBUTE: json.dumps(request)})


def read_save_request(details: RunDetailStore, run_id: int) -> SaveRequest | None:
    """The newest request to save a checkpoint of a run."""
    stored = details.attributes(run_id, _SAVE_ATTRIBUTE).get(_SAVE_ATTRIBUTE)
    if stored is None:
        return None
    request: SaveRequest = json.loads(stored)
    return request


_NO_RUN: ClientStatus = {
    "run_id": None,
    "incidents": [],
    "incident_count": 0,
    "worst": None,
    "stop": None,
    "save": None,
}
