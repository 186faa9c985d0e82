"""From disk to the server: a thread that sends the spool, oldest first, and what dead processes left."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass

from holter.client.notices import Notices
from holter.client.post import GZIP, Accepted, Later, Packing, Refused, Wire
from holter.client.spool import Spool, left_behind

IDLE_SECONDS = 1.0
ADOPT_SECONDS = 60.0
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
POST_TIMEOUT = 30.0


@dataclass(frozen=True, kw_only=True)
class Access:
    """Where the server is and how to be let in."""

    server: str
    token: str | None = None

    def url(self, path: str) -> str:
        return f"{self.server.rstrip('/')}/api/v1/{path}"


class Courier:
    """Sends bodies one after the other, with back-off. `stop` ends the waiting, not the try under way."""

    def __init__(
        self,
        access: Access,
        notices: Notices,
        *,
        stop: threading.Event,
        chance: random.Random,
        packing: Packing = GZIP,
    ) -> None:
        self._access = access
        self._wire = Wire(packing)
        self._notices = notices
        self._stop = stop
        self._chance = chance

    def drain(self, spool: Spool) -> bool:
        """Send what `spool` holds now; False when it was stopped before the end."""
        while (body := spool.next()) is not None:
            outcome = self.insist(body)
            if isinstance(outcome, Later):
                return False
            if isinstance(outcome, Refused):
                kept = spool.put_aside(body, outcome.reason)
                self._notices.note("refused", f"a batch was refused ({outcome.reason}); it is kept in {kept}")
            else:
                spool.done(body)
        return True

    def insist(self, body: bytes) -> Accepted | Later | Refused:
        """Send one body until the server has decided about it; Later only when `stop` came before a try."""
        failures = 0
        while True:
            last = self._stop.is_set()
            outcome = self.send(body)
            if not isinstance(outcome, Later):
                self._notices.forget("away")
                self._note_refused(outcome)
                return outcome
            self._notices.note("away", f"{outcome.reason}; metrics wait on disk (the training goes on)")
            self._notices.say()
            if last:
                return outcome
            longest = LONGEST_WAIT if outcome.misconfigured else min(LONGEST_WAIT, FIRST_WAIT * 2**failures)
            self._stop.wait(max(longest * self._chance.uniform(0.5, 1.0), outcome.wait or 0.0))
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
            for one in outcome.reply.get("refused") or ():
                self._notices.note(f"kept out {one.get('metric')}", f"not stored: {one.get('reason')}")
            self._notices.say()


class Sender(threading.Thread):
    """Keeps sending one spool; when there is nothing to do, also what dead processes of this host left.

    What a dead process left of the same run goes first, so that the server sees the run in order.
    """

    def __init__(
        self,
        spool: Spool,
        courier: Courier,
        header: Mapping[str, str],
        notices: Notices,
        *,
        stop: threading.Event,
    ) -> None:
        super().__init__(name="holter-sender", daemon=True)
        self.written = threading.Event()  # set when there is something new in the spool
        self._spool = spool
        self._courier = courier
        self._header = header
        self._notices = notices
        self._stop_waiting = stop
        self._done = False

    def run(self) -> None:
        self._adopt(("server", "host", "project", "run"))
        last, adopted = False, -ADOPT_SECONDS
        while not last:
            last = self._done  # looked at before the last drain: what was written until then is sent
            self.written.clear()
            drained = self._drain()
            idle = drained and not last and not self.written.wait(IDLE_SECONDS)
            if idle and time.monotonic() - adopted > ADOPT_SECONDS:
                self._adopt(("server", "host"))
                adopted = time.monotonic()
        self._courier.close()
        self._spool.close()

    def _drain(self) -> bool:
        try:
            return self._courier.drain(self._spool)
        except OSError as error:  # a full or broken disk: what is there stays there
            self._notices.note("disk", f"the spool {self._spool.folder} cannot be used: {error}")
            self._notices.say()
            self._stop_waiting.wait(LONGEST_WAIT)
            return False

    def close(self, timeout: float) -> bool:
        """Send the rest and end. Whether that was done within `timeout` seconds."""
        self._done = True
        self._stop_waiting.set()
        self.written.set()
        self.join(timeout)
        return not self.is_alive()

    def _adopt(self, same: tuple[str, ...]) -> None:
        """Send what is left behind by processes whose headers agree with ours in the fields `same`."""
        root = self._spool.folder.parent
        wanted = [self._header[field] for field in same]
        with contextlib.suppress(OSError):  # what cannot be used now is still there the next time
            for spool in left_behind(root, lambda header: [header.get(field) for field in same] == wanted):
                try:
                    if not self._courier.drain(spool):
                        return
                finally:
                    spool.close()
