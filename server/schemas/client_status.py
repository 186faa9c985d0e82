"""What a training process reads about its own run: open incidents and requests of people."""

from __future__ import annotations

from holter.server.schemas.base import ApiObject
from holter.types import Severity


class StatusIncident(ApiObject):
    """An open incident of the run."""

    id: int
    kind: str
    title: str
    severity: Severity
    metric: str
    step: int


class PendingRequest(ApiObject):
    """What somebody asks the training loop to do, in Unix seconds."""

    requested_at: float
    by: str | None
    reason: str | None


class ClientStatus(ApiObject):
    """The status of a run for its client: the most severe 20 of `incident_count` open incidents first.

    `run_id` is null while nothing of the run has arrived. `stop` and `save` are null unless somebody asked
    since the client opened the run.
    """

    run_id: str | None
    incidents: list[StatusIncident]
    incident_count: int
    worst: Severity | None
    stop: PendingRequest | None
    save: PendingRequest | None


class SaveRequest(ApiObject):
    """A request to save a checkpoint, in Unix seconds; `saved_at` is null until the client reports it."""

    requested_at: float
    by: str | None
    reason: str | None
    saved_at: float | None
    saved_step: int | None
    saved_seconds: float | None
