"""Following logs live: what is new in any file below the watched roots goes to a sink, exactly once."""

from __future__ import annotations

import logging
import resource
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from holter.ingest import formats
from holter.ingest.discovery.scanner import LogTree, Source
from holter.ingest.format import Format
from holter.ingest.names import storable_text
from holter.ingest.tailing.rotation import predecessors
from holter.ingest.tailing.tail import Sink, SinkError, Tail
from holter.ingest.tailing.watcher import FolderWatch
from holter.plurals import counted

__all__ = ["Follower", "Sink", "SinkError"]

_log = logging.getLogger(__name__)

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0
_COPIED = 60.0
"""Seconds for which a file that begins like another is taken for a copy that is still being made."""
_MOST_OPEN = 200
_LATE = 10.0
"""Seconds after which what is not read counts as behind: what is being read does not."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TailingLag:
    """How far a follower is behind. `failing` files are left alone for a while; `last_error` is on one."""

    files: int
    files_behind: int
    bytes_behind: int
    seconds_behind: float
    failing: int
    last_error: str


class Follower:
    """Follows every log below some folders, or single files, until told to stop.

    `poll` makes it look every so many seconds instead of asking the kernel; None decides by file system.
    `at_once` is how many runs it may read at a time, for a sink that several threads may call; the files
    of a run are read one after the other in any case.
    `host` goes before the paths that name sources, for a sink that hears from several machines. A file
    that cannot be read, or a sink that fails, is tried again later and never stops the others.
    """

    def __init__(
        self,
        roots: Sequence[Path],
        sink: Sink,
        *,
        project: str = "default",
        poll: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        stop: threading.Event | None = None,
        host: str = "",
        known: Mapping[str, Format] | None = None,
        at_once: int = 1,
    ) -> None:
        self._sink, self._project, self._clock, self._host = sink, project, clock, host
        self._stop = stop or threading.Event()
        self._poll, self._at_once = poll, at_once
        known = known or formats()
        self._trees = {root: LogTree(root, known) for root in dict.fromkeys(path.resolve() for path in roots)}
        self._tails: dict[Path, Tail] = {}
        self._sources: dict[Path, dict[Path, Source]] = {}
        self._pauses: dict[Path, tuple[float, float]] = {}
        self._last_error = ""
        self._copying: dict[Path, float] = {}
        self._open: dict[Path, None] = {}
        self._guard = threading.Lock()

    def run(self) -> None:
        """Follow until the stop is set."""
        self.catch_up()
        watch = FolderWatch(list(self._trees), poll=self._poll, clock=self._clock, stop=self._stop)
        for changes in watch.changes():
            for root in changes.sweep:
                began = self._clock()
                self._sweep(root)
                watch.swept(root, self._clock() - began)
            self._look_at(changes.paths)
            self._look_again()
            if self._stop.is_set():
                return

    def catch_up(self) -> None:
        """Read everything new there is, once."""
        for root in self._trees:
            self._sweep(root)

    def found(self) -> list[str]:
        """A line for each root: what has been found there so far."""
        return [_in_words(root, self._sources.get(root, {})) for root in self._trees]

    def lag(self) -> TailingLag:
        """How far what is read is behind what is written; asked from another thread."""
        behind = [tail.behind() for tail in list(self._tails.values())]
        late = [(size, seconds) for size, seconds in behind if size and seconds > _LATE]
        return TailingLag(
            files=len(behind),
            files_behind=len(late),
            bytes_behind=sum(size for size, _ in late),
            seconds_behind=max((seconds for _, seconds in late), default=0.0),
            failing=len(self._pauses),
            last_error=self._last_error if self._pauses else "",
        )

    def _sweep(self, root: Path) -> None:
        """Look for new logs below a root, and at every one that is known there."""
        elsewhere = {path for other, held in self._sources.items() if other != root for path in held}
        found = {source.path: source for source in self._trees[root].scan() if source.path not in elsewhere}
        for path, source in self._sources.get(root, {}).items():
            if path not in found or found[path].format is not source.format:  # gone, or read otherwise
                self._leave(path)
                self._pauses.pop(path, None)
        self._sources[root] = found
        runs: dict[str, list[Source]] = {}
        for source in found.values():
            if self._has_news(source):
                runs.setdefault(source.place.run, []).append(source)
        if self._at_once == 1 or len(runs) == 1:
            for held in runs.values():
                self._look_in_turn(held)
        elif runs:  # a sink that is waited for takes several in the time of one
            with ThreadPoolExecutor(self._at_once, thread_name_prefix="holter-follow") as pool:
                list(pool.map(self._look_in_turn, runs.values()))

    def _has_news(self, source: Source) -> bool:
        tail = self._tails.get(source.path)
        try:
            return tail is None or tail.has_news()
        except OSError:
            return True

    def _look_in_turn(self, sources: Iterable[Source]) -> None:
        for source in sources:
            if self._stop.is_set():
                return
            self._look(source)

    def _look_at(self, paths: Iterable[Path]) -> None:
        """Look at files that are said to have changed; one not known yet asks for a look at its root."""
        unknown: set[Path] = set()
        for path in sorted(paths):
            source = self._source(path)
            if source is not None:
                self._look(source)
            else:
                unknown.update(root for root in self._trees if self._news(root, path))
        for root in unknown:
            self._sweep(root)

    def _look_again(self) -> None:
        """Look at what failed before, as far as it has been left alone for long enough."""
        for path in list(self._pauses):
            source = self._source(path)
            if source is not None:
                self._look(source)

    def _source(self, path: Path) -> Source | None:
        return next((held[path] for held in self._sources.values() if path in held), None)

    def _news(self, root: Path, path: Path) -> bool:
        return path.is_relative_to(root) and (path.is_dir() or self._trees[root].is_new(path))

    def _look(self, source: Source) -> None:
        """Look at one log; after a failure it is left alone for a while, longer each time."""
        path = source.path
        moment, pause = self._pauses.get(path, (0.0, _FIRST_PAUSE))
        if self._clock() < moment:
            return
        try:
            tail = self._tail(source)
            if tail is not None:
                tail.look()
                self._keep_open(path)
            self._pauses.pop(path, None)
        except FileNotFoundError:  # the next sweep notices
            self._leave(path)
        except Exception as error:  # whatever is wrong with one log or one call must not end the others
            self._last_error = f"{path} cannot be read: {error}"
            self._pauses[path] = (self._clock() + pause, min(2 * pause, _LONGEST_PAUSE))
            told = isinstance(error, OSError | SinkError)
            _log.warning("%s: tried again in %g s: %s", path, pause, error, exc_info=None if told else error)

    def _tail(self, source: Source) -> Tail | None:
        """The tail of a log; None while it may be becoming a copy of another."""
        tail = self._tails.get(source.path)
        if tail is not None and not (tail.is_another_file() and not tail.is_intact()):
            return tail
        fresh = self._begin(source)  # what was read of another log may have come to stand here
        if not (fresh.has_begun and fresh.is_intact()):
            if self._is_copy(source):
                return None
            fresh = self._begin(source)
        if tail is None or (fresh.has_begun and fresh.is_intact()):
            self._drop(source.path)
            tail = self._tails[source.path] = fresh
        return tail

    def _begin(self, source: Source) -> Tail:
        # files that take turns in holding one log are followed under one name
        names = self._name if source.known_as is None else partial(self._known_as, source.known_as)
        return Tail(source, self._sink, project=self._project, names=names, clock=self._clock)

    def _known_as(self, path: Path, _: Path) -> str:
        return self._name(path)

    def _name(self, path: Path) -> str:
        return storable_text(f"{self._host}:{path}" if self._host else str(path))

    def _is_copy(self, source: Source) -> bool:
        """Whether a log is becoming a copy of another; one that has become it goes on from there."""
        names = predecessors(source.path.name)
        for name in names if names and self._knows(source, names[-1]) else ():
            tail = self._known(source, name)
            if tail.has_begun:
                if tail.move(source.path):
                    return False
                if tail.is_copied_to(source.path):
                    if self._clock() - self._copying.setdefault(source.path, self._clock()) < _COPIED:
                        return True
                    break
        self._copying.pop(source.path, None)
        return False

    def _knows(self, source: Source, name: str) -> bool:
        """Whether a file of this name stands beside a log, or has been read: of ranks' logs none does."""
        return source.path.with_name(name).exists() or self._known(source, name).has_begun

    def _known(self, source: Source, name: str) -> Tail:
        path = source.path.with_name(name)
        return self._tails.get(path) or self._begin(replace(source, path=path))

    def _leave(self, path: Path) -> None:
        """A log has gone from its place: what is left of it is read, wherever it can be."""
        tail = self._tails.get(path)
        if tail is not None:
            try:
                tail.finish()
            except (OSError, SinkError) as error:
                _log.warning("%s: the rest of what has gone is not read: %s", path, error)
        self._drop(path)

    def _drop(self, path: Path) -> None:
        tail = self._tails.pop(path, None)
        self._open.pop(path, None)
        self._copying.pop(path, None)
        if tail is not None:
            tail.let_go()

    def _keep_open(self, path: Path) -> None:
        """Keep the files open that changed last, in bounds."""
        with self._guard:
            self._open.pop(path, None)
            self._open[path] = None
            most = min(_MOST_OPEN, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 8)
            while len(self._open) > most:
                oldest = next(iter(self._open))
                del self._open[oldest]
                if (tail := self._tails.get(oldest)) is not None:
                    tail.let_go()


def _in_words(root: Path, sources: Mapping[Path, Source]) -> str:
    if not sources:
        return f"{root}: no logs of a known format yet; they are followed as they appear"
    runs = len({source.place.run for source in sources.values()})
    return f"{root}: {counted(len(sources), 'log')} of {counted(runs, 'run')}"
