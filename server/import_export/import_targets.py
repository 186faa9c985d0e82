"""Targets of an import: a store in this process, or a server over HTTP (POST /api/v1/import)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self
from urllib.parse import urlsplit

import httpx
import msgspec
import zstandard

import holter
from holter.server.import_export.file_formats import FORMAT
from holter.server.import_export.import_file import import_file
from holter.server.import_export.importer import ImportContext, ImportProgress
from holter.server.import_export.text_writer import json_bytes
from holter.server.import_export.tracker_run import TrackerRunInfo, import_tracker_run
from holter.server.import_export.trackers import pieces_by_series, rows_by_attempt
from holter.settings import is_loopback
from holter.types import Series

_PART_BYTES = 1 << 18
_MAX_TRIES = 30  # while other imports are in progress there, or its database is unavailable
_RETRY_SECONDS = 10.0
_TIMEOUT = httpx.Timeout(30, connect=10, read=600)
CountCallback = Callable[[int], object]
"""Called with the number of bytes or points so far."""


class ImportRejectedError(ValueError):
    """A server rejected a run; the message says why."""


class ServerUnavailableError(Exception):
    """A server accepts no imports at all; the message says why."""


class ServerAddress(NamedTuple):
    """The address of a server, and an access token for it."""

    server: str
    token: str | None = None


class LocalImportTarget:
    """Imports runs into a store in this process; `stored` is called with the points of each run so far."""

    def __init__(self, context: ImportContext, *, stored: CountCallback = lambda _: None) -> None:
        self._context, self._stored = context, stored

    def file(self, path: Path, *, project: str | None = None, run: str | None = None) -> ImportProgress:
        """Import a file of `holter export`. Raises ImportRefusedError, OSError if it cannot be opened."""
        with path.open("rb") as file:
            return self._finish(import_file(self._context, file, path.name, project=project, run=run))

    def run(self, info: TrackerRunInfo, series: Sequence[Series]) -> ImportProgress:
        """Import a run of another tracker. Raises ValueError, StoreError."""
        return self._finish(import_tracker_run(self._context, info, rows_by_attempt(series)))

    def _finish(self, steps: Iterator[ImportProgress]) -> ImportProgress:
        for step in steps:
            self._stored(step.points + step.known)
        return step


class HttpImportTarget:
    """Sends runs to a server one after the other, each as one file.

    `sent` is called with bytes and `stored` with points of each run so far; `busy` with the reason for
    waiting.
    """

    def __init__(
        self,
        address: ServerAddress,
        *,
        sent: CountCallback = lambda _: None,
        stored: CountCallback = lambda _: None,
        busy: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._server = address.server
        self._sent, self._stored, self._busy = sent, stored, busy
        headers = {"Authorization": f"Bearer {address.token}"} if address.token else {}
        # proxies of the environment are not used for this machine itself
        use_proxies = not is_loopback(urlsplit(address.server).hostname or "")
        self._client = httpx.Client(headers=headers, timeout=_TIMEOUT, trust_env=use_proxies)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def file(self, path: Path, *, project: str | None = None, run: str | None = None) -> ImportProgress:
        """Send a file of `holter export`. Raises ImportRejectedError, ServerUnavailableError, OSError."""
        with path.open("rb") as file:
            headers = {"Content-Length": str(path.stat().st_size)}
            parameters = {"project": project, "run": run, "file": path.name}
            return self._send(lambda: _file_parts(file), parameters, headers)

    def run(self, info: TrackerRunInfo, series: Sequence[Series]) -> ImportProgress:
        """Send a run of another tracker. Raises ImportRejectedError, ServerUnavailableError."""
        head = {"holter_export": FORMAT, "holter": holter.__version__, "kept": info.to_json()}
        return self._send(
            lambda: _compress_parts(json_bytes(head, pieces_by_series(series))),
            {},
            {"Content-Encoding": "zstd"},
        )

    def _send(
        self,
        content: Callable[[], Iterator[bytes]],
        parameters: Mapping[str, str | None],
        headers: Mapping[str, str],
    ) -> ImportProgress:
        for _ in range(_MAX_TRIES):
            result = self._try(content(), parameters, headers)
            if isinstance(result, ImportProgress):
                return result
            self._busy(result)
            time.sleep(_RETRY_SECONDS)
        raise ServerUnavailableError(f"{self._server}: {result}")

    def _try(
        self, content: Iterator[bytes], parameters: Mapping[str, str | None], headers: Mapping[str, str]
    ) -> ImportProgress | str:
        """Return the result, or the reason for sending it again later."""
        url = f"{self._server.rstrip('/')}/api/v1/import"
        params = {name: value for name, value in parameters.items() if value is not None}
        try:
            with self._client.stream(
                "POST", url, params=params, content=self._count_bytes(content), headers=headers
            ) as response:
                if response.status_code == 503:
                    return self._reason(response)
                if response.status_code != 200:
                    raise ImportRejectedError(self._reason(response))
                return self._last_step(response)
        except httpx.TransportError as error:
            raise ServerUnavailableError(
                f"{self._server}: {error or type(error).__name__}; what has arrived is stored, "
                "repeat the same command to continue"
            ) from error

    def _count_bytes(self, content: Iterator[bytes]) -> Iterator[bytes]:
        size = 0
        for part in content:
            yield part
            size += len(part)
            self._sent(size)

    def _last_step(self, response: httpx.Response) -> ImportProgress:
        step: dict[str, Any] = {}
        for line in response.iter_lines():
            try:
                step = msgspec.json.decode(line, type=dict[str, Any])
            except msgspec.DecodeError:
                raise ImportRejectedError(f"{self._server} is not a Holter server") from None
            if "detail" in step:
                raise ImportRejectedError(str(step["detail"]))
            self._stored(step["points"] + step["known"])
        if not step.get("whole"):
            raise ServerUnavailableError(
                f"{self._server} stopped before the end: repeat the same command to continue"
            )
        return msgspec.convert(step, ImportProgress)

    def _reason(self, response: httpx.Response) -> str:
        """Return the server's message. Raises ServerUnavailableError where it accepts no imports from us."""
        response.read()
        server, status = self._server, response.status_code
        if status in (404, 405):
            raise ServerUnavailableError(f"{server} accepts no imports: no Holter server, or an older one")
        try:
            detail = response.json()["detail"]
            message = detail if isinstance(detail, str) else "; ".join(item["msg"] for item in detail)
        except (ValueError, LookupError, TypeError):
            reason = "a proxy before it rejects files of this size" if status == 413 else "no Holter server"
            raise ServerUnavailableError(f"{server} answers {status}: {reason}") from None
        if status in (401, 403):
            raise ServerUnavailableError(f"{server}: {message}")
        return str(message)


def _file_parts(file: BinaryIO) -> Iterator[bytes]:
    file.seek(0)
    while part := file.read(_PART_BYTES):
        yield part


def _compress_parts(content: Iterator[bytes]) -> Iterator[bytes]:
    compressor = zstandard.ZstdCompressor(level=3).compressobj()
    for part in content:
        if compressed := compressor.compress(part):
            yield compressed
    yield compressor.flush()
