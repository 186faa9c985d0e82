"""The addresses to which OpenTelemetry collectors and Prometheus send metrics of machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from holter.server.api.request_limits import MACHINE_METRICS_BYTES
from holter.server.context import Context, ServerContext
from holter.server.ingest_http.compression import CODINGS, decompress
from holter.server.ingest_http.memory_budget import MemoryShare
from holter.server.ingest_http.refusals import REFUSED_ERRORS, refusal_of
from holter.server.ingest_http.request_body import read_body

if TYPE_CHECKING:
    from holter.server.machine_metrics.receiver import MachineMetricsReceiver

OTLP_PATH = "/v1/metrics"
REMOTE_WRITE_PATH = "/api/v1/write"
_MEMORY_OF_A_BYTE = 12
"""Bytes of memory for a byte of protobuf while it is decoded and stored."""
router = APIRouter(include_in_schema=False)

ProjectName = Annotated[str, Query(max_length=200)]
RunName = Annotated[str, Query(max_length=2000)]


@router.post(OTLP_PATH)
async def receive_otlp(
    request: Request, context: Context, project: ProjectName = "", run: RunName = ""
) -> Response:
    """Store the gauges and sums of an OTLP request, for `run` or for the active runs on its hosts."""
    # imported with the first request, since few servers get one
    from holter.server.machine_metrics import otlp  # noqa: PLC0415

    content_type = request.headers.get("content-type", "").partition(";")[0].strip()
    coding = request.headers.get("content-encoding", "identity")

    def reply(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
        return Response(otlp.error_body(content_type, message), status, headers, media_type=content_type)

    if content_type not in (otlp.PROTOBUF, otlp.JSON):
        return Response(f"expected {otlp.PROTOBUF} or {otlp.JSON}", 415)
    if coding not in CODINGS:
        return reply(415, "content-encoding: expected gzip, zstd or none")

    def store(body: bytes, share: MemoryShare) -> Response:
        content = decompress(body, coding, MACHINE_METRICS_BYTES, share.grow)
        share.grow(_MEMORY_OF_A_BYTE * len(content))
        receiver = _receiver(request, context)
        found = otlp.parse_export(content, content_type, receiver.is_allowed)
        refused = Counter(found.refused)
        refused += receiver.store("otlp", body, found.samples, project, run)
        return Response(otlp.export_response(content_type, refused), media_type=content_type)

    return await _receive(request, context, store, reply)


@router.post(REMOTE_WRITE_PATH)
async def receive_remote_write(
    request: Request, context: Context, project: ProjectName = "", run: RunName = ""
) -> Response:
    """Store the samples of a remote write request (version 1), for `run` or for the active runs."""
    from holter.server.machine_metrics import remote_write  # noqa: PLC0415

    def reply(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
        return Response(message, status, headers, media_type="text/plain")

    content_type = request.headers.get("content-type", "application/x-protobuf")
    if "io.prometheus.write.v2" in content_type or not content_type.startswith("application/x-protobuf"):
        return reply(415, "expected application/x-protobuf of remote write 1.0")
    if request.headers.get("content-encoding", "snappy") != "snappy":
        return reply(415, "content-encoding: expected snappy")

    def store(body: bytes, share: MemoryShare) -> Response:
        content = remote_write.decompress_snappy(body, MACHINE_METRICS_BYTES, share.grow)
        share.grow(_MEMORY_OF_A_BYTE * len(content))
        receiver = _receiver(request, context)
        found = remote_write.parse_write_request(content, receiver.is_allowed)
        refused = receiver.store("remote write", body, found.samples, project, run)
        if refused:  # what can be stored is stored; Prometheus logs the message and does not send it again
            return reply(400, "; ".join(f"{count} samples: {reason}" for reason, count in refused.items()))
        return Response(status_code=204)

    return await _receive(request, context, store, reply)


def _receiver(request: Request, context: ServerContext) -> MachineMetricsReceiver:
    """The receiver of this server, created with the first request, since it loads formats of logs."""
    from holter.server.machine_metrics.receiver import MachineMetricsReceiver  # noqa: PLC0415

    state = request.app.state
    if not hasattr(state, "machine_metrics"):
        state.machine_metrics = MachineMetricsReceiver(context)
    receiver: MachineMetricsReceiver = state.machine_metrics
    return receiver


async def _receive(
    request: Request,
    context: ServerContext,
    store: Callable[[bytes, MemoryShare], Response],
    reply: Callable[..., Response],
) -> Response:
    """Read the body and store it in a thread. What cannot succeed later is no 5xx: senders retry these."""
    share = context.receiver.budget.share()
    share.hold()
    try:
        body = await read_body(request, context.receiver.arriving, limit=MACHINE_METRICS_BYTES)
        share.grow(len(body))
        return await run_in_threadpool(store, body, share)
    except REFUSED_ERRORS as error:
        return reply(*refusal_of(error))
    finally:
        share.release()
