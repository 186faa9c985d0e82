"""POST /ingest: points come in, and are acknowledged once they are durable."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterable, Callable
from concurrent.futures import Future

import zstandard
from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool

from holter.server.api.answers import Answer, Problem, on_unreadable_body, refused
from holter.server.api.schemas import INGEST_BODY
from holter.server.api.shapes import Accepted
from holter.server.intake import deliveries
from holter.server.intake.forms import BodyError
from holter.server.parts import OfServer
from holter.server.store import Receipt, StoreBusyError, StoreClosedError

DURABLE_SECONDS = 30.0
RETRY_SECONDS = "1"
LARGE_BODY = 256 * 1024
ZSTD_WINDOW = 2**27
Form = Callable[[bytes], deliveries.Intake]
_FORMS: dict[str, Form] = {
    "application/json": deliveries.from_json,
    "application/msgpack": deliveries.from_msgpack,
    "application/x-msgpack": deliveries.from_msgpack,
}

router = APIRouter(tags=["ingest"])


class TooLargeError(ValueError):
    """A body is larger than allowed, before or after decompression."""


class CompressionError(ValueError):
    """A body is not compressed as it says."""


@router.post(
    "/ingest",
    openapi_extra={"requestBody": INGEST_BODY},
    responses={
        200: {"model": Accepted},
        413: {"model": Problem, "description": "The body is larger than max_batch_mb"},
        415: {"model": Problem, "description": "Neither JSON nor msgpack, or an unknown compression"},
    },
)
async def ingest(request: Request, parts: OfServer) -> Answer:
    """Accept a batch of points, whole or not at all. The same `batch_id` again changes nothing."""
    form = _FORMS.get(request.headers.get("content-type", "").partition(";")[0].strip().lower())
    if form is None:
        return _told(parts, refused(415, "send Content-Type: application/json or application/msgpack"))
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if coding not in {"identity", "gzip", "zstd"}:
        return _told(parts, refused(415, f"Content-Encoding {coding!r}: expected gzip, zstd or none"))
    limit = parts.settings.max_batch_mb * 2**20
    try:
        body = await _read(request.stream(), limit)
        if coding == "identity" and len(body) < LARGE_BODY:
            taken, stored = _submit(parts, form, body)
        else:  # what takes long to unpack must not hold up the others
            taken, stored = await run_in_threadpool(
                lambda: _submit(parts, form, decompress(body, coding, limit))
            )
        # shielded: giving up waiting must not cancel what the store is writing
        receipt = await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(stored)), DURABLE_SECONDS)
    except TooLargeError as error:
        return _told(parts, refused(413, str(error)))
    except CompressionError as error:
        return _told(parts, refused(400, str(error)))
    except BodyError as error:
        return _told(parts, await on_unreadable_body(request, error))
    except (StoreBusyError, StoreClosedError, TimeoutError):
        reason = "the store is busy or closing: send the same batch_id again"
        return _told(parts, refused(503, reason, {"Retry-After": RETRY_SECONDS}))
    if taken.config:
        await run_in_threadpool(parts.overview.configure, receipt.run_id, taken.config)
    return _told(parts, _acknowledged(parts, taken, receipt))


def _submit(parts: OfServer, form: Form, body: bytes) -> tuple[deliveries.Intake, Future[Receipt]]:
    taken = form(body)
    try:
        return taken, parts.store.submit(taken.delivery)
    except ValueError as error:  # the store keeps less than the form allows, e.g. very many labels
        raise BodyError([((), str(error))]) from error


def _acknowledged(parts: OfServer, taken: deliveries.Intake, receipt: Receipt) -> Answer:
    return Answer(
        {
            "accepted": receipt.accepted,
            "run_id": receipt.public_id,
            "attempt": receipt.attempt,
            "batch_id": taken.delivery.batch_id,
            "duplicate": receipt.duplicate,
        }
    )


def _told(parts: OfServer, answer: Answer) -> Answer:
    parts.counts.batches.labels(str(answer.status_code)).inc()
    return answer


async def _read(stream: AsyncIterable[bytes], limit: int) -> bytes:
    pieces, size = [], 0
    async for piece in stream:
        size += len(piece)
        if size > limit:
            raise TooLargeError(_too_large(limit))
        pieces.append(piece)
    return b"".join(pieces)


def decompress(body: bytes, coding: str, limit: int) -> bytes:
    """The body as it was before compression. Raises TooLargeError beyond `limit` bytes, CompressionError."""
    if coding == "identity":
        return body
    try:
        plain = _gunzip(body, limit) if coding == "gzip" else _unzstd(body, limit)
    except (zlib.error, zstandard.ZstdError, EOFError) as error:
        raise CompressionError(f"the body is not {coding}: {error}") from error
    if len(plain) > limit:
        raise TooLargeError(_too_large(limit))
    return plain


def _gunzip(body: bytes, limit: int) -> bytes:
    unzip = zlib.decompressobj(wbits=31)
    plain = unzip.decompress(body, limit + 1)
    if len(plain) <= limit and not unzip.eof:
        raise EOFError("it ends too early")
    if unzip.unused_data:
        raise zlib.error("something follows its end")
    return plain


def _unzstd(body: bytes, limit: int) -> bytes:
    with zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW).stream_reader(body) as reader:
        if len(plain := reader.read(limit + 1)) > limit:
            return plain
    # the reader bounds what comes out but does not tell a frame that was cut off
    unzip = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW).decompressobj()
    plain = unzip.decompress(body)
    if not unzip.eof or unzip.unused_data:
        raise EOFError("expected one whole frame")
    return plain


def _too_large(limit: int) -> str:
    return f"the body is larger than {limit // 2**20} MiB (max_batch_mb): send smaller batches"
