"""Routes that compare runs: curves on a common axis, differences of settings and figures, statistics."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from holter.detectors.compare.axes import XAxis
from holter.server.api.charts import POINTS_LIMIT
from holter.server.api.responses import RUN_NOT_FOUND, ApiResponse, field_errors_response
from holter.server.compare.curves import CurveRange
from holter.server.compare.run_access import MAX_RUNS
from holter.server.context import Context
from holter.server.schemas.compare import CompareCurves, CompareDifferences, CompareStatistics

router = APIRouter(prefix="/compare", tags=["compare"])

RunIds = Annotated[
    str, Query(alias="runs", max_length=4000, description=f"Ids of 1 to {MAX_RUNS} runs, separated by commas")
]
Baseline = Annotated[
    str | None, Query(description="The run that others are compared with; default: the first")
]
AlignedBy = Annotated[XAxis, Query(alias="x", description="What the runs are aligned by")]


@router.get("/curves", responses={200: {"model": CompareCurves}, **RUN_NOT_FOUND})
def compare_curves(
    context: Context,
    run_ids: RunIds,
    baseline: Baseline = None,
    axis: AlignedBy = XAxis.STEP,
    metric: Annotated[
        list[str] | None, Query(description="Once for each chart; without: loss, speed, learning rate, ...")
    ] = None,
    group_by: Annotated[str | None, Query(max_length=200, description="A setting, e.g. lr")] = None,
    low: Annotated[float | None, Query(alias="from", allow_inf_nan=False, description="First x")] = None,
    high: Annotated[float | None, Query(alias="to", allow_inf_nan=False, description="Last x")] = None,
    points: Annotated[
        int, Query(ge=10, le=POINTS_LIMIT, description="Approximate number of points per curve")
    ] = 1000,
) -> ApiResponse:
    """Curves of several runs on one x axis, with differences from the baseline and means of groups.

    A run whose x is not known (`axis.source` is `missing`) has no curves. Of many curves each has fewer
    points.
    """
    ids = parse_ids(run_ids)
    if isinstance(problem := _problem(ids, baseline), ApiResponse):
        return problem
    return ApiResponse(
        context.comparison.curves(
            ids,
            baseline=baseline,
            axis=axis,
            metrics=metric or [],
            group_by=group_by,
            limits=CurveRange(low, high),
            points=points,
        )
    )


@router.get("/differences", responses={200: {"model": CompareDifferences}, **RUN_NOT_FOUND})
def compare_differences(
    context: Context, run_ids: RunIds, baseline: Baseline = None, axis: AlignedBy = XAxis.STEP
) -> ApiResponse:
    """What differs between runs: settings, figures and incidents; a sentence each against the baseline."""
    ids = parse_ids(run_ids)
    if isinstance(problem := _problem(ids, baseline), ApiResponse):
        return problem
    return ApiResponse(context.comparison.differences(ids, baseline=baseline, axis=axis))


@router.get("/statistics", responses={200: {"model": CompareStatistics}, **RUN_NOT_FOUND})
def compare_statistics(
    context: Context,
    run_ids: RunIds,
    baseline: Baseline = None,
    axis: AlignedBy = XAxis.STEP,
    metric: Annotated[str | None, Query(description="By default the training loss")] = None,
) -> ApiResponse:
    """The difference of each run from the baseline at equal x, with its 95 % interval."""
    ids = parse_ids(run_ids)
    if isinstance(problem := _problem(ids, baseline), ApiResponse):
        return problem
    return ApiResponse(context.comparison.statistics(ids, baseline=baseline, axis=axis, metric=metric))


def parse_ids(text: str) -> list[str]:
    """The ids of a comma-separated list, each once."""
    return list(dict.fromkeys(part for each in text.split(",") if (part := each.strip())))


def _problem(ids: list[str], baseline: str | None) -> ApiResponse | None:
    """A response that refuses these runs; None where they can be compared."""
    if not 1 <= len(ids) <= MAX_RUNS:
        return field_errors_response([(("query", "runs"), f"{len(ids)} runs, expected 1 to {MAX_RUNS}")])
    if baseline is not None and baseline not in ids:
        return field_errors_response([(("query", "baseline"), "expected one of the runs")])
    return None
