"""uvicorn's HTTP protocol with limits: of headers, of time, and of what waits to be read or written.

uvicorn (with httptools) has none of these: a header may be endless, and is copied with each piece that
arrives; a request may take any time to arrive, and a response to be read.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import struct
import termios
from contextlib import suppress
from enum import Enum
from http import HTTPStatus
from typing import Any

import httptools
import msgspec
from uvicorn._types import ASGI3Application
from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT, FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from holter.server.connections import ConnectionTable, Evictable, Use
from holter.settings.http import HttpSettings

HEAD_PIECE = 512
"""Bytes parsed at once while headers are expected: a dozen requests at most, which are queued."""
CHUNKS_PIECE = 4096
"""Bytes parsed at once of a body whose length is not known."""
MAX_HEADERS = 256
"""Headers and trailers of one request."""
TURN_PARTS = 256
"""Parts (headers, chunks of a body) after which a connection lets others be served: each takes time."""
REQUEST_PARTS = 16
"""What a request counts in addition: it takes as long as so many headers."""
BODY_PROGRESS = 32 * 1024
"""Bytes of a body that must arrive in each period of `body_seconds`."""
LINGER_SECONDS = 2.0
"""Seconds for which a closing connection is still read, so that the client receives the response."""
LINGER_BYTES = 4 * 2**20
"""Bytes that are read and dropped on a closing connection."""
_COUNT = struct.Struct("i")
_NOTHING_LEFT = memoryview(b"")
_logger = logging.getLogger(__name__)


class _Reading(Enum):
    """What a connection expects next: the first byte of a request, more of its headers, more of its body."""

    NOTHING = 0
    HEAD = 1
    BODY = 2


class BoundedHttpProtocol(HttpToolsProtocol):
    """One connection. Reads nothing more while pipelined requests wait for earlier ones."""

    transport: LingeringTransport

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        table: ConnectionTable,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.host = "unknown"
        self._table = table
        self._max_head = table.limits.max_header_kb * 1024
        self._reading = _Reading.HEAD
        self._since = 0.0  # when the present request began to arrive, or the last response was complete
        self._received_any = False
        self._head_size = 0
        self._header_count = 0
        self._parts = 0  # since the connection's present turn began
        self._turn_scheduled = False
        self._body_left = 0  # bytes of the body to come, 0 where its length is not known
        self._without_progress = 0  # bytes parsed since headers, body or request came to an end or went on
        self._progressed = False
        self._active: RequestResponseCycle | None = None
        self._refusal = (400, "the request is not valid HTTP")
        self._unparsed: memoryview[int] = _NOTHING_LEFT
        self._body_size = 0
        self._body_mark: tuple[float, int] | None = None  # (time, bytes) at the latest progress
        self._write_mark: tuple[float, int] | None = None  # (time, bytes waiting) at the latest progress
        self._write_paused_since: float | None = None
        self._linger_until: float | None = None
        self._lingered = 0

    # --- the connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Admit the connection, or refuse it with 503."""
        guarded = LingeringTransport(transport, self)
        super().connection_made(guarded)
        self.flow = _PipelineFlowControl(guarded, self)
        self._since = self.loop.time()
        if self.client is not None:
            self.host = self.client[0]
        if not self._table.add(self):
            self.transport.write(_response(503, "too many connections are open: try again later"))
            self.transport.close_now()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._table.remove(self)
        self._unparsed = _NOTHING_LEFT
        self._disconnect_active()
        super().connection_lost(exc)

    def abort(self) -> None:
        """Close the connection at once; what waits to be written is lost."""
        self.transport.abort()

    @property
    def has_unread_input(self) -> bool:
        """Whether a part of a request has not been read."""
        return self._reading is not _Reading.NOTHING or bool(self._unparsed)

    @property
    def must_wait(self) -> bool:
        """Whether earlier requests must be answered before more is read."""
        return bool(self.pipeline) or bool(self._unparsed)

    @property
    def _handling(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def evictable(self) -> Evictable | None:
        """Whether the connection may be closed for another one; None while a complete request is handled."""
        in_body = self._reading is _Reading.BODY
        if self._handling and not in_body and not self.transport.is_closing():
            return None
        if in_body:
            return Evictable(Use.IN_BODY, self._since)
        return Evictable(Use.SILENT if self.cycle is None else Use.IDLE, self._since)

    def has_arrived_input(self) -> bool:
        """Whether the system has received something that was not read so far."""
        connection = self.transport.get_extra_info("socket")
        if connection is None:
            return False
        with suppress(OSError):  # closed meanwhile
            waiting = fcntl.ioctl(connection.fileno(), termios.FIONREAD, bytes(_COUNT.size))
            return bool(_COUNT.unpack(waiting)[0])
        return False

    # --- reading

    def data_received(self, data: bytes) -> None:
        """Parse what has arrived, as far as earlier requests permit."""
        if self.transport.is_closing():
            self._lingered += len(data)
            if self._lingered > LINGER_BYTES:
                self.abort()
            return
        self._unset_keepalive_if_required()
        self._received_any = True
        if self._reading is _Reading.NOTHING:
            self._begin_head()
        self._unparsed = memoryview(bytes(self._unparsed) + data if self._unparsed else data)
        if self._table.turns.exhausted:
            self._continue_later()
        else:
            self._parse()

    def _begin_head(self) -> None:
        self._reading = _Reading.HEAD
        self._since = self.loop.time()

    def _parse(self) -> None:
        self._parts = 0
        while self._unparsed and not self.pipeline and not self.transport.is_closing():
            if self._parts >= TURN_PARTS:
                self._continue_later()
                break
            size, unparsed = self._piece_size(), self._unparsed
            if len(unparsed) <= size:  # nearly always
                self._unparsed = _NOTHING_LEFT
                self._parse_piece(unparsed)
            else:
                self._unparsed = unparsed[size:]
                self._parse_piece(unparsed[:size])
        self._table.turns.spend(self._parts)

    def _piece_size(self) -> int:
        """A body of known length is parsed at once; in the rest a piece may hold many requests or chunks."""
        if self._body_left:
            return self._body_left
        return CHUNKS_PIECE if self._reading is _Reading.BODY else HEAD_PIECE

    def _continue_later(self) -> None:
        self.flow.pause_reading()
        if not self._turn_scheduled:
            self._turn_scheduled = True
            self._table.turns.add(self._next_turn)

    def _next_turn(self) -> None:
        self._turn_scheduled = False
        self._parse()
        waits = self.must_wait or (self._handling and len(self.cycle.body) > HIGH_WATER_LIMIT)
        if not waits:
            self.flow.resume_reading()

    def _parse_piece(self, piece: memoryview[int]) -> None:
        self._progressed = False
        try:
            self.parser.feed_data(piece)
        except httptools.HttpParserUpgrade:
            # answered as an ordinary request, the last one: what follows would be another protocol
            self.cycle.keep_alive = False
            self._unparsed = _NOTHING_LEFT
        except httptools.HttpParserError as error:
            _logger.info("invalid request from %s: %s", self.host, error)
            self.refuse(*self._refusal)
            return
        if self._progressed:
            self._without_progress = 0
        else:
            self._without_progress += len(piece)
            if self._without_progress > self._max_head:
                self.refuse(431, f"a header is longer than {self._max_head // 1024} KiB (max_header_kb)")

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._parts += REQUEST_PARTS
        self._head_size, self._header_count, self._body_left = 0, 0, 0
        if self._reading is not _Reading.HEAD:
            self._begin_head()

    def on_url(self, url: bytes) -> None:
        """A part of the URL. Raises ValueError if it is too long, which ends the parsing."""
        self._head_size += len(url)
        if self._head_size > self._max_head:
            self._refusal = (414, f"the URL is longer than {self._max_head // 1024} KiB (max_header_kb)")
            raise ValueError(self._refusal[1])
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header or a trailer. Raises ValueError if they are too many or too long, which ends it."""
        self._head_size += len(name) + len(value) + 4  # ": " and the end of the line
        if self._head_size > self._max_head:
            kib = self._max_head // 1024
            self._refusal = (431, f"the headers are longer than {kib} KiB (max_header_kb)")
            raise ValueError(self._refusal[1])
        self._parts += 1
        self._header_count += 1
        if self._header_count > MAX_HEADERS:
            self._refusal = (431, f"expected at most {MAX_HEADERS} headers")
            raise ValueError(self._refusal[1])
        name = name.lower()
        if name == b"content-length" and self._reading is _Reading.HEAD and value.isdigit():
            self._body_left = int(value)
        elif name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """The body follows, if there is one."""
        self._progressed = True
        super().on_headers_complete()
        self._reading = _Reading.BODY
        self._body_size, self._body_mark = 0, None

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        self._progressed = True
        self._parts += 1
        self._body_size += len(body)
        self._body_left = max(0, self._body_left - len(body))
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request has been read."""
        self._progressed = True
        self._reading, self._body_left = _Reading.NOTHING, 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Continue with the requests that have waited: in turn with those of other connections."""
        self._since = self.loop.time()
        if self.pipeline:
            self._table.turns.add(self._begin_next)
        else:
            self._begin_next()

    def _begin_next(self) -> None:
        super().on_response_complete()
        if self._unparsed and not self.pipeline:
            self._unset_keepalive_if_required()
            self._parse()
            if not self.must_wait:
                self.flow.resume_reading()

    def refuse(self, status: int, reason: str) -> None:
        """End the connection, with a response where it cannot be mistaken for that to an earlier request."""
        reading_body = self._reading is _Reading.BODY
        answerable = not reading_body
        if self._handling:
            answerable = reading_body and not self.pipeline and not self.cycle.response_started
            self._disconnect_active()
        if answerable:
            self.transport.write(_response(status, reason))
        self.transport.close()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._active = cycle
        super()._start_asgi_task(cycle, app)

    def _disconnect_active(self) -> None:
        """Tell what handles a request that its client has left; uvicorn tells the latest request only."""
        if self._active is not None and not self._active.response_complete:
            self._active.disconnected = True
            self._active.message_event.set()

    # --- writing

    def pause_writing(self) -> None:
        """More waits to be written than the transport should keep."""
        self._write_paused_since = self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        """Most of what has waited was written."""
        self._write_paused_since = None
        super().resume_writing()

    # --- time-outs

    def check(self, now: float, limits: HttpSettings) -> None:
        """End the connection where the client exceeds a time-out."""
        if self._is_stalled(now, limits.write_seconds):
            _logger.info("closed the connection of %s, which does not read its response", self.host)
            self.abort()
        elif self.transport.lingers:
            if self._linger_until is None:
                self._linger_until = now + LINGER_SECONDS
            elif now > self._linger_until:
                self.abort()
        elif self._reading is _Reading.BODY:
            self._check_body(now, limits.body_seconds)
        elif self._reading is _Reading.HEAD and not self._handling:
            if now - self._since <= limits.header_seconds:
                return
            if self._received_any:
                self.refuse(408, f"the headers did not arrive within {limits.header_seconds:g} s")
            else:
                self.transport.close_now()

    def _is_stalled(self, now: float, seconds: float) -> bool:
        """Whether the client has read nothing of what waits for it, or too little, for so many seconds."""
        if self._write_paused_since is not None and now - self._write_paused_since > seconds:
            return True
        waiting = self.transport.get_write_buffer_size()
        if not waiting:
            self._write_mark = None
        elif self._write_mark is None or waiting < self._write_mark[1]:
            self._write_mark = (now, waiting)
        else:
            self._write_mark = (self._write_mark[0], waiting)
            return now - self._write_mark[0] > seconds
        return False

    def _check_body(self, now: float, seconds: float) -> None:
        waits_for_server = self.flow.read_paused or (self._handling and self.cycle.waiting_for_100_continue)
        mark = self._body_mark
        if mark is None or waits_for_server or self._body_size - mark[1] >= BODY_PROGRESS:
            self._body_mark = (now, self._body_size)
        elif now - mark[0] > seconds:
            self.refuse(408, f"less than {BODY_PROGRESS // 1024} KiB of the body arrived in {seconds:g} s")


class LingeringTransport(asyncio.Transport):
    """A transport that, when closed, still reads for a moment what the client is sending.

    Closing a socket with unread input makes the system send a reset, after which many clients never see the
    response that was written before.
    """

    def __init__(self, transport: asyncio.Transport, protocol: BoundedHttpProtocol) -> None:
        super().__init__()
        self._transport = transport
        self._protocol = protocol
        self.lingers = False

    def close(self) -> None:
        """Write what is waiting, then close; accept no more input."""
        if self.is_closing():
            return
        if not self._protocol.has_unread_input:
            self._transport.close()
            return
        self.lingers = True
        try:
            self._transport.write_eof()
            self._transport.resume_reading()
        except (OSError, RuntimeError):  # the client has disconnected meanwhile
            self._transport.abort()

    def close_now(self) -> None:
        """Write what is waiting, then close, whether or not the client is still sending."""
        self._transport.close()

    def write(self, data: Any) -> None:
        """Write, unless the transport is closing: what handles a request may notice that later."""
        if not self.is_closing():
            self._transport.write(data)

    def is_closing(self) -> bool:
        """Whether it is closed, or about to be."""
        return self.lingers or self._transport.is_closing()

    def abort(self) -> None:
        """Close at once."""
        self._transport.abort()

    def pause_reading(self) -> None:
        """Read nothing more for now."""
        if not self.is_closing():
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Read again."""
        if not self.is_closing():
            self._transport.resume_reading()

    def get_write_buffer_size(self) -> int:
        """Bytes that wait to be written."""
        with suppress(RuntimeError, AttributeError):
            return self._transport.get_write_buffer_size()
        return 0  # closed meanwhile

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """As the transport itself has it."""
        return self._transport.get_extra_info(name, default)


class _PipelineFlowControl(FlowControl):
    def __init__(self, transport: asyncio.Transport, protocol: BoundedHttpProtocol) -> None:
        super().__init__(transport)
        self._protocol = protocol

    def resume_reading(self) -> None:
        # a request with others behind it has been read completely: it needs no more data
        if not self._protocol.must_wait:
            super().resume_reading()


def _response(status: int, reason: str) -> bytes:
    body = msgspec.json.encode({"detail": reason})
    retry = b"retry-after: 5\r\n" if status == 503 else b""
    return (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: application/json\r\n"
        f"x-content-type-options: nosniff\r\ncontent-length: {len(body)}\r\nconnection: close\r\n"
    ).encode() + b"%b\r\n%b" % (retry, body)
