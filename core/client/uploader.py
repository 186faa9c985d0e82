"""The uploader thread: sends the spool, oldest body first, and spools that dead processes left behind."""

from __future__ import annotations

import contextlib
import random
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from holter.client.http import GZIP, Accepted, Compression, PostConnection, Rejected, RetryLater
from holter.client.notices import Notices
from holter.client.spool import Spool, orphaned_spools

IDLE_SECONDS = 1.0
ORPHAN_SCAN_SECONDS = 60.0
IDLE_PIPELINE_SECONDS = 1.0  # shorter than servers keep idle connections open
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
POST_TIMEOUT = 30.0
REQUEST_BYTES = 4 * 2**20  # of waiting bodies in one request


@dataclass(frozen=True, kw_only=True)
class ServerAccess:
    """The server's address and access token."""

    server: str
    token: str | None = None

    def url(self, path: str) -> str:
        return f"{self.server.rstrip('/')}/api/v1/{path}"


class IngestClient:
    """Sends bodies one after the other with back-off. `stop` ends the waiting, not the attempt in progress.

    `consequence` is the part of warnings that states what happens while the server is unreachable.
    """

    def __init__(
        self,
        access: ServerAccess,
        notices: Notices,
        *,
        stop: threading.Event,
        rng: random.Random,
        compression: Compression = GZIP,
        consequence: str = "metrics wait on disk (the training continues)",
    ) -> None:
        self._access = access
        self._connection = PostConnection(compression)
        self._meanwhile = consequence
        self._notices = notices
        self.stop = stop
        self._random = rng

    def start_run(self, notices: Notices) -> None:
        """Report to these notices from now on."""
        self._notices = notices
        self.stop.clear()

    def drain(self, spool: Spool) -> bool:
        """Send the contents of `spool`; returns False if stopped before the end."""
        while bodies := spool.next_bodies(REQUEST_BYTES):
            outcome = self.send_until_decided(join_bodies(bodies))
            if (
                isinstance(outcome, Rejected) and len(bodies) > 1
            ):  # one body is invalid, or the server does not support arrays
                outcome = self._send_each(spool, bodies)
            elif isinstance(outcome, Rejected):
                self._reject(spool, bodies[0], outcome)
            elif isinstance(outcome, Accepted):
                spool.acknowledge(*bodies)
            if isinstance(outcome, RetryLater):
                return False
        return True

    def _send_each(self, spool: Spool, bodies: Sequence[bytes]) -> Accepted | RetryLater:
        for body in bodies:
            outcome = self.send_until_decided(body)
            if isinstance(outcome, RetryLater):
                return outcome
            if isinstance(outcome, Rejected):
                self._reject(spool, body, outcome)
            else:
                spool.acknowledge(body)
        return Accepted()

    def _reject(self, spool: Spool, body: bytes, outcome: Rejected) -> None:
        kept = spool.reject(body, outcome.reason)
        self._notices.note("refused", f"a batch was rejected ({outcome.reason}); it is stored in {kept}")

    def send_until_decided(self, body: bytes) -> Accepted | RetryLater | Rejected:
        """Send one body until it is accepted or rejected; RetryLater if `stop` was set before."""
        failures = 0
        while True:
            last = self.stop.is_set()
            outcome = self.send(body)
            if not isinstance(outcome, RetryLater):
                self._notices.forget("away")
                self._note_left_out(outcome)
                return outcome
            self._notices.note("away", f"{outcome.reason}; {self._meanwhile}")
            self._notices.flush()
            if last:
                return outcome
            longest = LONGEST_WAIT if outcome.misconfigured else min(LONGEST_WAIT, FIRST_WAIT * 2**failures)
            self.stop.wait(max(longest * self._random.uniform(0.5, 1.0), outcome.wait or 0.0))
            failures = min(failures + 1, 10)

    def send(self, body: bytes) -> Accepted | RetryLater | Rejected:
        """Send one body once."""
        return self._connection.post(
            self._access.url("ingest"), body, token=self._access.token, timeout=POST_TIMEOUT
        )

    def close(self) -> None:
        """Close the connection."""
        self._connection.disconnect()

    def _note_left_out(self, outcome: Accepted | Rejected) -> None:
        """Warn once per metric that the server left out because of a limit."""
        if isinstance(outcome, Accepted):
            for batch in outcome.reply.get("batches") or (outcome.reply,):
                for refused in batch.get("refused") or ():
                    self._notices.note(
                        f"left out {refused.get('metric')}", f"not stored: {refused.get('reason')}"
                    )
            self._notices.flush()


def join_bodies(bodies: Sequence[bytes]) -> bytes:
    """Join several bodies into one msgpack array."""
    if len(bodies) == 1:
        return bodies[0]
    return b"".join((struct.pack(">BI", 0xDD, len(bodies)), *bodies))


class Upload:
    """The upload of one run: its spool header and progress."""

    def __init__(self, header: Mapping[str, str], notices: Notices) -> None:
        self.header = header
        self.notices = notices
        self.finished = False  # nothing more is appended
        self.sent = False
        self.done = threading.Event()  # everything is sent or was attempted


class Uploader(threading.Thread):
    """Sends a spool run by run; when idle, also spools left by dead processes of this host.

    Spools of the same run are sent first, so that the server receives the run in order. With `release`,
    thread, connection and spool stay open for `IDLE_PIPELINE_SECONDS` after a completed run, so that the
    next run of this process can reuse them; `release` returns whether no run has.
    """

    def __init__(
        self, spool: Spool, client: IngestClient, *, release: Callable[[], bool] | None = None
    ) -> None:
        super().__init__(name="holter-uploader", daemon=True)
        self.written = threading.Event()  # set when the spool has new bodies
        self._spool = spool
        self._client = client
        self._release = release
        self._uploads: SimpleQueue[Upload | None] = SimpleQueue()
        self._upload: Upload | None = None
        self._ended = False

    def start_run(self, header: Mapping[str, str], notices: Notices) -> None:
        """Start sending a run."""
        self._client.start_run(notices)
        self._upload = Upload(header, notices)
        self._uploads.put(self._upload)

    def run(self) -> None:
        while (upload := self._next()) is not None:
            upload.sent = self._send_upload(upload)
            if not upload.sent or self._release is None:
                break
            upload.done.set()
        self._client.close()
        self._spool.close()
        if self._upload is not None:
            self._upload.done.set()

    def _next(self) -> Upload | None:
        while not self._ended:
            try:
                return self._uploads.get(timeout=IDLE_PIPELINE_SECONDS)
            except Empty:
                if self._release is not None and self._release():
                    return None
        return None

    def _send_upload(self, upload: Upload) -> bool:
        """Send a run until it is finished; returns whether everything was sent."""
        self._send_orphans(upload, ("server", "host", "project", "run"))
        last, drained, adopted = False, False, -ORPHAN_SCAN_SECONDS
        while not last:
            last = upload.finished  # read before the last drain, which sends everything appended until then
            self.written.clear()
            drained = self._drain(upload)
            idle = drained and not last and not self.written.wait(IDLE_SECONDS)
            if idle and time.monotonic() - adopted > ORPHAN_SCAN_SECONDS:
                self._send_orphans(upload, ("server", "host"))
                adopted = time.monotonic()
        return drained

    def _drain(self, upload: Upload) -> bool:
        try:
            return self._client.drain(self._spool)
        except OSError as error:  # a full or failing disk: the spool stays as it is
            upload.notices.note("disk", f"the spool {self._spool.folder} cannot be used: {error}")
            upload.notices.flush()
            self._client.stop.wait(LONGEST_WAIT)
            return False

    def close(self, timeout: float) -> bool:
        """Send the rest of the run; returns whether that was done within `timeout` seconds."""
        upload = self._upload
        assert upload is not None
        upload.finished = True
        self._client.stop.set()
        self.written.set()
        return upload.done.wait(timeout)

    @property
    def sent(self) -> bool:
        """Return whether everything of the run has been sent."""
        return self._upload is not None and self._upload.sent

    def end(self) -> None:
        """End the thread once everything was attempted."""
        self._ended = True
        self._uploads.put(None)

    def _send_orphans(self, upload: Upload, fields: tuple[str, ...]) -> None:
        """Send spools left by dead processes whose headers agree with ours in `fields`."""
        root = self._spool.folder.parent
        wanted = [upload.header[field] for field in fields]
        with contextlib.suppress(OSError):  # retried at the next scan
            for spool in orphaned_spools(
                root, lambda header: [header.get(field) for field in fields] == wanted
            ):
                try:
                    if not self._client.drain(spool):
                        return
                finally:
                    spool.close()
