"""Routes about a run's launches: configuration, diagnostics, throughput, speed of collectives."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from holter.server.api.charts import POINTS_LIMIT
from holter.server.api.responses import RUN_NOT_FOUND, ApiResponse
from holter.server.context import Context
from holter.server.schemas.launches import (
    DiagnosticList,
    RunCollectives,
    RunConfig,
    ThroughputCurve,
    ThroughputQuantity,
    ThroughputReport,
)

router = APIRouter(tags=["runs"])


@router.get("/runs/{run_id}/config", responses={200: {"model": RunConfig}, **RUN_NOT_FOUND})
def read_config(run_id: str, context: Context, q: str | None = None) -> ApiResponse:
    """The configuration of each launch, and its changes. `q`: part of a setting's name or value."""
    return ApiResponse(context.launches.config(context.runs.run_id(run_id), q))


@router.get("/runs/{run_id}/environment", responses={200: {"model": RunConfig}, **RUN_NOT_FOUND})
def read_environment(run_id: str, context: Context, q: str | None = None) -> ApiResponse:
    """The environment of each launch, and its changes. `q`: part of a name or value."""
    return ApiResponse(context.launches.environment(context.runs.run_id(run_id), q))


@router.get("/runs/{run_id}/remarks", responses={200: {"model": DiagnosticList}, **RUN_NOT_FOUND})
def read_diagnostics(run_id: str, context: Context) -> ApiResponse:
    """Problems with the configuration of the launches, and with the figures that they report."""
    internal, version = context.runs.version(run_id)
    diagnostics = DiagnosticList(remarks=context.launches.diagnostics(internal, version))
    return ApiResponse(diagnostics)


@router.get("/runs/{run_id}/throughput", responses={200: {"model": ThroughputReport}, **RUN_NOT_FOUND})
def read_throughput(run_id: str, context: Context) -> ApiResponse:
    """TFLOPS and MFU as reported, each with its formula, and as Holter computes them from the run's speed."""
    internal, version = context.runs.version(run_id)
    return ApiResponse(context.launches.throughput(internal, version))


@router.get("/runs/{run_id}/throughput/curve", responses={200: {"model": ThroughputCurve}, **RUN_NOT_FOUND})
def read_throughput_curve(
    run_id: str,
    context: Context,
    quantity: ThroughputQuantity = ThroughputQuantity.MFU,
    points: Annotated[int, Query(ge=10, le=POINTS_LIMIT, description="Approximate number of points")] = 1000,
) -> ApiResponse:
    """One of Holter's own figures as a curve, computed on request. Reduction never removes its extremes."""
    segments = context.launches.throughput_curve(context.runs.run_id(run_id), quantity.value, points)
    return ApiResponse(ThroughputCurve(quantity=quantity, stretches=segments))


@router.get("/runs/{run_id}/collectives", responses={200: {"model": RunCollectives}, **RUN_NOT_FOUND})
def read_collectives(run_id: str, context: Context) -> ApiResponse:
    """Speed of collectives by operation, size and communicator, their cost, ranks that others wait for."""
    internal, version = context.runs.version(run_id)
    return ApiResponse(context.launches.collectives(internal, version))
