"""A run's collectives: their speed against the hardware's, what they cost, who waits for whom."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from holter.server.api.responses import Answer, Problem
from holter.server.api.schemas.base import Shape
from holter.server.context import OfServer

router = APIRouter(tags=["runs"])
NOT_FOUND: dict[int | str, dict[str, Any]] = {404: {"model": Problem, "description": "There is no such run"}}


class Collective(Shape):
    """Calls that are alike: from a `benchmark`, a `trace`, or timed one by one (`calls`).

    `bytes` of one call; `seconds` of all on a rank, waiting included; `busbw_gbs` of the rank that waited
    least, in GB/s. `link` is what the calls go over at best, with its GB/s in one direction and where that is
    written, and `share` the part of it that is reached; null where the logs do not tell the
    hardware, and for calls below 1 MiB, which latency decides.
    """

    source: str
    collective: str
    communicator: str
    size: str
    bytes: float
    ranks: int
    calls: int
    seconds: float
    busbw_gbs: float
    link: str | None
    link_gbs: float | None
    link_source: str | None
    share: float | None


class CommunicationOverlap(Shape):
    """A rank's trace in seconds: in collectives, in other kernels, in collectives while no other ran."""

    rank: str
    communication: float
    compute: float
    exposed: float
    exposed_share: float
    hidden_share: float


class WaitedFor(Shape):
    """A rank that came last in `last` of `calls`: the others waited `mean_wait` seconds each time."""

    communicator: str
    rank: str
    host: str | None
    last: int
    calls: int
    share: float
    mean_wait: float
    waited: float


class EndsBefore(Shape):
    """A rank whose log of a communicator ends at the call `last`, while all others end at `others`."""

    communicator: str
    rank: str
    host: str | None
    last: int
    others: int
    ranks: int


class RunCollectives(Shape):
    """The first of `collectives_count` kinds of calls; `series_left_out` were too many to be compared."""

    collectives: list[Collective]
    collectives_count: int
    overlap: list[CommunicationOverlap]
    waited_for: list[WaitedFor]
    behind: list[EndsBefore]
    series_left_out: int


@router.get("/runs/{run_id}/collectives", responses={200: {"model": RunCollectives}, **NOT_FOUND})
def collectives_of_run(run_id: str, parts: OfServer) -> Answer:
    """How fast collectives are by operation, size and communicator, what they cost, who waits for whom."""
    internal, version = parts.overview.version(run_id)
    return Answer(parts.collectives.of(internal, version))
