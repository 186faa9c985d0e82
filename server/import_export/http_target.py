"""Brings runs to a server over HTTP, each as one file (POST /api/v1/import)."""

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
from holter.server.import_export.export import FORMAT
from holter.server.import_export.importer import Imported
from holter.server.import_export.text_writer import json_bytes
from holter.server.import_export.tracker_run import Kept
from holter.server.import_export.trackers import pieces_of
from holter.settings import is_loopback
from holter.types import Series

_PART = 1 << 18  # bytes
_TRIES = 30  # while others' files are on their way there, or its database is away
_WAIT = 10.0  # seconds between two of them
_TIMEOUT = httpx.Timeout(30, connect=10, read=600)
Told = Callable[[int], object]
"""Hears how far something has come."""


class SendError(ValueError):
    """A server does not take a run, and why."""


class ServerAwayError(Exception):
    """A server takes no runs at all, now or ever, and why."""


class Door(NamedTuple):
    """A server, and the token that opens it."""

    server: str
    token: str | None = None


class Sender:
    """Sends runs one after the other.

    `sent` hears of bytes, `stored` of points, of each run anew; `busy` why the server is waited for.
    """

    def __init__(
        self,
        door: Door,
        *,
        sent: Told = lambda _: None,
        stored: Told = lambda _: None,
        busy: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._door = door
        self._sent, self._stored, self._busy = sent, stored, busy
        headers = {"Authorization": f"Bearer {door.token}"} if door.token else {}
        # a proxy that the environment names does not stand before this machine itself
        outside = not is_loopback(urlsplit(door.server).hostname or "")
        self._client = httpx.Client(headers=headers, timeout=_TIMEOUT, trust_env=outside)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def file(self, path: Path, *, project: str | None = None, run: str | None = None) -> Imported:
        """Send a file of `holter export`. Raises SendError, ServerAwayError, OSError."""
        with path.open("rb") as file:
            size = {"Content-Length": str(path.stat().st_size)}
            said = {"project": project, "run": run, "file": path.name}
            return self._insist(lambda: _parts(file), said, size)

    def run(self, kept: Kept, series: Sequence[Series]) -> Imported:
        """Send a run of another tracker. Raises SendError, ServerAwayError."""
        head = {"holter_export": FORMAT, "holter": holter.__version__, "kept": kept.to_json()}
        return self._insist(
            lambda: _packed(json_bytes(head, pieces_of(series))), {}, {"Content-Encoding": "zstd"}
        )

    def _insist(
        self,
        content: Callable[[], Iterator[bytes]],
        said: Mapping[str, str | None],
        headers: Mapping[str, str],
    ) -> Imported:
        for _ in range(_TRIES):
            done = self._try(content(), said, headers)
            if isinstance(done, Imported):
                return done
            self._busy(done)
            time.sleep(_WAIT)
        raise ServerAwayError(f"{self._door.server}: {done}")

    def _try(
        self, content: Iterator[bytes], said: Mapping[str, str | None], headers: Mapping[str, str]
    ) -> Imported | str:
        """What came of it; why, where it is to be sent again."""
        url = f"{self._door.server.rstrip('/')}/api/v1/import"
        given = {name: value for name, value in said.items() if value is not None}
        try:
            with self._client.stream(
                "POST", url, params=given, content=self._counted(content), headers=headers
            ) as answer:
                if answer.status_code == 503:
                    return self._why(answer)
                if answer.status_code != 200:
                    raise SendError(self._why(answer))
                return self._last(answer)
        except httpx.TransportError as error:
            raise ServerAwayError(
                f"{self._door.server}: {error or type(error).__name__}; what has arrived stays there, "
                "and the same command goes on with it"
            ) from error

    def _counted(self, content: Iterator[bytes]) -> Iterator[bytes]:
        size = 0
        for part in content:
            yield part
            size += len(part)
            self._sent(size)

    def _last(self, answer: httpx.Response) -> Imported:
        last: dict[str, Any] = {}
        for line in answer.iter_lines():
            try:
                last = msgspec.json.decode(line, type=dict[str, Any])
            except msgspec.DecodeError:
                raise SendError(f"{self._door.server} answers, but is no Holter server") from None
            if "detail" in last:
                raise SendError(str(last["detail"]))
            self._stored(last["points"] + last["known"])
        if not last.get("whole"):
            raise ServerAwayError(f"{self._door.server} has stopped before the end: the same command goes on")
        return msgspec.convert(last, Imported)

    def _why(self, answer: httpx.Response) -> str:
        """The server's own words. Raises ServerAwayError where it takes nothing from us at all."""
        answer.read()
        server, status = self._door.server, answer.status_code
        if status in (404, 405):
            raise ServerAwayError(f"{server} takes no imports: it is no Holter server, or an older one")
        try:
            said = answer.json()["detail"]
            said = said if isinstance(said, str) else "; ".join(one["msg"] for one in said)
        except (ValueError, LookupError, TypeError):
            why = "a proxy before it takes no files so large" if status == 413 else "no Holter server does so"
            raise ServerAwayError(f"{server} answers {status}: {why}") from None
        if status in (401, 403):
            raise ServerAwayError(f"{server}: {said}")
        return str(said)


def _parts(file: BinaryIO) -> Iterator[bytes]:
    file.seek(0)
    while part := file.read(_PART):
        yield part


def _packed(content: Iterator[bytes]) -> Iterator[bytes]:
    packer = zstandard.ZstdCompressor(level=3).compressobj()
    for part in content:
        if packed := packer.compress(part):
            yield packed
    yield packer.flush()
