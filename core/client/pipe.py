"""A run's way to the server, memory to disk to server; a run that follows soon takes it over."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from holter.client import spool as spools
from holter.client.encode import Envelope
from holter.client.identity import Identity
from holter.client.notices import Notices
from holter.client.recorder import Recorder
from holter.client.uploader import Access, Courier, Sender


@dataclass(frozen=True, kw_only=True)
class Ends:
    """Between what a pipe runs: the places for its spool, best first, how much it may hold, the server."""

    places: Sequence[Path]
    limit: int
    access: Access


class Pipe:
    """The moving parts behind a run: two threads, a spool and a connection.

    To make them and to take them down again takes longer than to send a short run: when everything of a
    run has arrived they rest for a second, and a run between the same ends goes on with them.
    """

    def __init__(self, ends: Ends, spool: spools.Spool, nonce: str, notices: Notices) -> None:
        self.ends = ends
        self.spool = spool
        courier = Courier(ends.access, notices, stop=threading.Event(), chance=random.Random(nonce))
        self.sender = Sender(spool, courier, release=lambda: RESTING.forget(self))
        self.recorder = Recorder(spool, written=self.sender.written)

    def begin(self, header: Mapping[str, str], envelope: Envelope, notices: Notices) -> None:
        """Carry this run from now on."""
        self.recorder.begin(envelope, notices)
        self.sender.begin(header, notices)

    def start(self) -> None:
        """Start the threads."""
        self.recorder.start()
        self.sender.start()

    def finish(self, *, sent: bool) -> None:
        """The run is closed: rest, or end where something is left to send or to look at."""
        if sent and self.spool.clean:
            RESTING.put(self)
        else:
            self.end()

    def end(self) -> None:
        """No run comes any more."""
        self.recorder.end()
        self.sender.leave()


class Resting:
    """Pipes that wait for another run."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._pipes: list[Pipe] = []

    def put(self, pipe: Pipe) -> None:
        """Let one wait."""
        with self._guard:
            self._pipes.append(pipe)

    def take(self, ends: Ends) -> Pipe | None:
        """One between these ends, which is the caller's from now on."""
        with self._guard:
            found = next((one for one in self._pipes if one.ends == ends), None)
            if found is not None:
                self._pipes.remove(found)
            return found

    def forget(self, pipe: Pipe) -> bool:
        """It is about to end: whether nobody has taken it."""
        with self._guard:
            waits = pipe in self._pipes
            if waits:
                self._pipes.remove(pipe)
                pipe.recorder.end()
            return waits

    def take_all(self) -> list[Pipe]:
        """All of them."""
        with self._guard:
            found, self._pipes = self._pipes, []
            return found

    def let_go(self) -> None:
        """In a forked child, where another thread may have held the lock: keep no hold on the spools."""
        self._guard = threading.Lock()
        for pipe in self.take_all():
            pipe.spool.let_go()


RESTING = Resting()


def connect(ends: Ends, identity: Identity, envelope: Envelope, notices: Notices) -> Pipe:
    """A pipe that carries this run, a resting or a new one. Raises OSError where no spool can be kept."""
    header = {
        "server": ends.access.server,
        "host": identity.host,
        "project": envelope.project,
        "run": envelope.run,
    }
    while (rested := RESTING.take(ends)) is not None:
        try:
            rested.spool.begin(header)
        except OSError:  # somebody has removed it
            rested.end()
            continue
        rested.begin(header, envelope, notices)
        return rested
    name = f"{identity.host}-{identity.pid}-{identity.nonce}"
    spool = open_spool(ends.places, name, header, ends.limit, notices)
    pipe = Pipe(ends, spool, identity.nonce, notices)
    pipe.begin(header, envelope, notices)
    pipe.start()
    return pipe


def open_spool(
    places: Sequence[Path], name: str, header: Mapping[str, str], limit: int, notices: Notices
) -> spools.Spool:
    """A spool at the first of these places that can be written. Raises OSError when none can."""
    for place in places[:-1]:
        try:
            return spools.create(place, name, header, limit=limit)
        except OSError as error:
            notices.note(f"spool {place}", f"no spool can be kept in {place} ({error}); trying elsewhere")
    return spools.create(places[-1], name, header, limit=limit)


def end_all(pipes: Iterable[Pipe], timeout: float) -> None:
    """End these, waiting at most so long for each."""
    for pipe in pipes:
        pipe.end()
        pipe.sender.join(timeout)
