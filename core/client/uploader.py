"""From disk to the server: a thread that sends the spool, oldest first, and what dead processes left."""

from __future__ import annotations

import contextlib
import random
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from holter.client.http import GZIP, Accepted, Later, Packing, Refused, Wire
from holter.client.notices import Notices
from holter.client.spool import Spool, left_behind

IDLE_SECONDS = 1.0
ADOPT_SECONDS = 60.0
REST_SECONDS = 1.0  # shorter than servers keep a connection open on which nothing comes
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
POST_TIMEOUT = 30.0
BUNCH_BYTES = 4 * 2**20  # of bodies that wait, in one request


@dataclass(frozen=True, kw_only=True)
class Access:
    """Where the server is and how to be let in."""

    server: str
    token: str | None = None

    def url(self, path: str) -> str:
        return f"{self.server.rstrip('/')}/api/v1/{path}"


class Courier:
    """Sends bodies one after the other, with back-off. `stop` ends the waiting, not the try under way.

    `meanwhile` says what becomes of everything while the server is away.
    """

    def __init__(
        self,
        access: Access,
        notices: Notices,
        *,
        stop: threading.Event,
        chance: random.Random,
        packing: Packing = GZIP,
        meanwhile: str = "metrics wait on disk (the training goes on)",
    ) -> None:
        self._access = access
        self._wire = Wire(packing)
        self._meanwhile = meanwhile
        self._notices = notices
        self.stop = stop
        self._chance = chance

    def begin(self, notices: Notices) -> None:
        """Send for somebody else from now on, who wants to hear of it."""
        self._notices = notices
        self.stop.clear()

    def drain(self, spool: Spool) -> bool:
        """Send what `spool` holds now; False when it was stopped before the end."""
        while bodies := spool.following(BUNCH_BYTES):
            outcome = self.insist(bunch(bodies))
            if isinstance(outcome, Refused) and len(bodies) > 1:  # one is at fault, or the server older
                outcome = self._one_by_one(spool, bodies)
            elif isinstance(outcome, Refused):
                self._put_aside(spool, bodies[0], outcome)
            elif isinstance(outcome, Accepted):
                spool.done(*bodies)
            if isinstance(outcome, Later):
                return False
        return True

    def _one_by_one(self, spool: Spool, bodies: Sequence[bytes]) -> Accepted | Later:
        for body in bodies:
            outcome = self.insist(body)
            if isinstance(outcome, Later):
                return outcome
            if isinstance(outcome, Refused):
                self._put_aside(spool, body, outcome)
            else:
                spool.done(body)
        return Accepted()

    def _put_aside(self, spool: Spool, body: bytes, outcome: Refused) -> None:
        kept = spool.put_aside(body, outcome.reason)
        self._notices.note("refused", f"a batch was refused ({outcome.reason}); it is kept in {kept}")

    def insist(self, body: bytes) -> Accepted | Later | Refused:
        """Send one body until the server has decided about it; Later only when `stop` came before a try."""
        failures = 0
        while True:
            last = self.stop.is_set()
            outcome = self.send(body)
            if not isinstance(outcome, Later):
                self._notices.forget("away")
                self._note_refused(outcome)
                return outcome
            self._notices.note("away", f"{outcome.reason}; {self._meanwhile}")
            self._notices.say()
            if last:
                return outcome
            longest = LONGEST_WAIT if outcome.misconfigured else min(LONGEST_WAIT, FIRST_WAIT * 2**failures)
            self.stop.wait(max(longest * self._chance.uniform(0.5, 1.0), outcome.wait or 0.0))
            failures = min(failures + 1, 10)

    def send(self, body: bytes) -> Accepted | Later | Refused:
        """One try."""
        return self._wire.post(
            self._access.url("ingest"), body, token=self._access.token, timeout=POST_TIMEOUT
        )

    def close(self) -> None:
        """Hang up."""
        self._wire.hang_up()

    def _note_refused(self, outcome: Accepted | Refused) -> None:
        """Metrics that a limit keeps out of a run that goes on: each cause is said once."""
        if isinstance(outcome, Accepted):
            for batch in outcome.reply.get("batches") or (outcome.reply,):
                for one in batch.get("refused") or ():
                    self._notices.note(f"kept out {one.get('metric')}", f"not stored: {one.get('reason')}")
            self._notices.say()


def bunch(bodies: Sequence[bytes]) -> bytes:
    """Several bodies as one: a msgpack array of them."""
    if len(bodies) == 1:
        return bodies[0]
    return b"".join((struct.pack(">BI", 0xDD, len(bodies)), *bodies))


class Errand:
    """One run that is sent: whose it is, and how far that has come."""

    def __init__(self, header: Mapping[str, str], notices: Notices) -> None:
        self.header = header
        self.notices = notices
        self.over = False  # nothing more is written
        self.sent = False
        self.done = threading.Event()  # everything is sent, or has been tried


class Sender(threading.Thread):
    """Sends a spool, run by run; when there is nothing to do, also what dead processes of this host left.

    What a dead process left of the same run goes first, so that the server sees the run in order. With
    `release`, thread, connection and spool outlive a run that was sent to its end by `REST_SECONDS`, in
    which the next run of this process may take them over: it is asked whether nobody has.
    """

    def __init__(self, spool: Spool, courier: Courier, *, release: Callable[[], bool] | None = None) -> None:
        super().__init__(name="holter-sender", daemon=True)
        self.written = threading.Event()  # set when there is something new in the spool
        self._spool = spool
        self._courier = courier
        self._release = release
        self._errands: SimpleQueue[Errand | None] = SimpleQueue()
        self._errand: Errand | None = None
        self._left = False

    def begin(self, header: Mapping[str, str], notices: Notices) -> None:
        """Send a run from now on."""
        self._courier.begin(notices)
        self._errand = Errand(header, notices)
        self._errands.put(self._errand)

    def run(self) -> None:
        while (errand := self._next()) is not None:
            errand.sent = self._run_errand(errand)
            if not errand.sent or self._release is None:
                break
            errand.done.set()
        self._courier.close()
        self._spool.close()
        if self._errand is not None:
            self._errand.done.set()

    def _next(self) -> Errand | None:
        while not self._left:
            try:
                return self._errands.get(timeout=REST_SECONDS)
            except Empty:
                if self._release is not None and self._release():
                    return None
        return None

    def _run_errand(self, errand: Errand) -> bool:
        """Send a run until it is over; whether to its end."""
        self._adopt(errand, ("server", "host", "project", "run"))
        last, drained, adopted = False, False, -ADOPT_SECONDS
        while not last:
            last = errand.over  # looked at before the last drain: what was written until then is sent
            self.written.clear()
            drained = self._drain(errand)
            idle = drained and not last and not self.written.wait(IDLE_SECONDS)
            if idle and time.monotonic() - adopted > ADOPT_SECONDS:
                self._adopt(errand, ("server", "host"))
                adopted = time.monotonic()
        return drained

    def _drain(self, errand: Errand) -> bool:
        try:
            return self._courier.drain(self._spool)
        except OSError as error:  # a full or broken disk: what is there stays there
            errand.notices.note("disk", f"the spool {self._spool.folder} cannot be used: {error}")
            errand.notices.say()
            self._courier.stop.wait(LONGEST_WAIT)
            return False

    def close(self, timeout: float) -> bool:
        """Send the rest of the run. Whether that was done within `timeout` seconds."""
        errand = self._errand
        assert errand is not None
        errand.over = True
        self._courier.stop.set()
        self.written.set()
        return errand.done.wait(timeout)

    @property
    def sent(self) -> bool:
        """Whether everything of the run has been sent."""
        return self._errand is not None and self._errand.sent

    def leave(self) -> None:
        """No run comes any more: end, but not before everything has been tried."""
        self._left = True
        self._errands.put(None)

    def _adopt(self, errand: Errand, same: tuple[str, ...]) -> None:
        """Send what is left behind by processes whose headers agree with ours in the fields `same`."""
        root = self._spool.folder.parent
        wanted = [errand.header[field] for field in same]
        with contextlib.suppress(OSError):  # what cannot be used now is still there the next time
            for spool in left_behind(root, lambda header: [header.get(field) for field in same] == wanted):
                try:
                    if not self._courier.drain(spool):
                        return
                finally:
                    spool.close()
