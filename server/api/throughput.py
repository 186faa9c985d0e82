"""A run's throughput: what it reports and by whose formula, beside Holter's own."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from fastapi import APIRouter, Query

from holter.server.api.charts import POINTS_LIMIT
from holter.server.api.responses import Answer, Problem
from holter.server.api.schemas.base import Shape
from holter.server.context import OfServer

router = APIRouter(tags=["runs"])
NOT_FOUND: dict[int | str, dict[str, Any]] = {404: {"model": Problem, "description": "There is no such run"}}


class Level(Shape):
    """Medians of a curve without what was rolled back: over its newest 50 points, over all, and the best."""

    newest: float | None
    usual: float | None
    best: float | None


class Reported(Level):
    """A figure as the run reports it: MFU as a share, TFLOPS of one device; by which formula, in words."""

    metric: str
    labels: dict[str, str]
    quantity: str
    framework: str | None
    formula: str


class Own(Shape):
    """Holter's own figures of one device, from the series `measured_from`; `missing`: what no log says.

    `precision_assumed`: the launch does not state in what it multiplies, bf16 is taken.
    """

    formula: str
    tokens_per_second_per_device: Level
    tflops: Level
    mfu: Level
    hfu: Level
    recomputed: str | None
    flops_per_token: float | None
    parameters: int | None
    active_weights: int | None
    devices: int | None
    device: str | None
    peak_tflops: float | None
    peak_source: str | None
    precision: str
    precision_assumed: bool
    measured_from: str | None
    missing: list[str]


class RunThroughput(Shape):
    """What a run reports of its throughput, and Holter's own. Never mixed."""

    reported: list[Reported]
    own: Own


class Quantity(StrEnum):
    """Which of Holter's own figures: shares of the peak, TFLOPS of one device, or its tokens a second."""

    MFU = "mfu"
    HFU = "hfu"
    TFLOPS = "tflops"
    TOKENS = "tokens"


class Stretch(Shape):
    """Points that a line may join: of one attempt, all superseded (`ghost`) or none."""

    attempt: int
    ghost: bool
    step: list[int]
    value: list[float]


class OwnCurve(Shape):
    """One of Holter's own figures, attempt by attempt; no stretches where too little is known."""

    quantity: Quantity
    stretches: list[Stretch]


@router.get("/runs/{run_id}/throughput", responses={200: {"model": RunThroughput}, **NOT_FOUND})
def throughput_of_run(run_id: str, parts: OfServer) -> Answer:
    """TFLOPS and MFU as reported, each with its formula, and Holter's own from the run's speed."""
    internal, version = parts.overview.version(run_id)
    return Answer(parts.setup.throughput(internal, version))


@router.get("/runs/{run_id}/throughput/curve", responses={200: {"model": OwnCurve}, **NOT_FOUND})
def curve_of_own(
    run_id: str,
    parts: OfServer,
    quantity: Quantity = Quantity.MFU,
    points: Annotated[int, Query(ge=10, le=POINTS_LIMIT, description="About how many")] = 1000,
) -> Answer:
    """One of Holter's own figures as a curve, worked out now; its extremes are never lost."""
    found = parts.setup.curve(parts.overview.run_id(run_id), quantity.value, points)
    return Answer({"quantity": quantity.value, "stretches": found})
