"""Tails all logs below some folders: new records of any file go to a sink, exactly once."""

from __future__ import annotations

import logging
import resource
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from holter.ingest import formats
from holter.ingest.discovery.scanner import LogTree, Source
from holter.ingest.errors import describe_error
from holter.ingest.file_tasks import file_task
from holter.ingest.format import Format
from holter.ingest.names import storable_text
from holter.ingest.tailing.failures import FileFailures
from holter.ingest.tailing.grown_files import read_grown_files, small_growth
from holter.ingest.tailing.reading_locks import ReadingLocks
from holter.ingest.tailing.reading_pool import ReadingPool
from holter.ingest.tailing.rotation import predecessors
from holter.ingest.tailing.sink import Sink, SinkError
from holter.ingest.tailing.tail import Tail, TimeSlice, UnreadableLogError
from holter.ingest.tailing.watcher import FolderWatch
from holter.ingest.tailing.worker_options import TailingLag
from holter.plurals import counted
from holter.types import Unreadable

_log = logging.getLogger(__name__)

NO_FAILURES = FileFailures()
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0
_COPY_SECONDS = 60.0
"""How long a file that begins like another counts as a copy that is still being made."""
_MAX_OPEN_FILES = 200
_MAX_UNFINISHED = 16
"""How many files are read in parts at a time for packed ones to be, which are unpacked on disk meanwhile."""
_SCAN_AFTER = 5.0
"""Seconds of reading after which new files are looked for."""
_SEARCH_SECONDS = 0.2
"""Processor time for which a text is searched for a first record before other files have their turn."""
_BUSY_SECONDS = 0.5
"""How long other work must last before what has grown is read by a thread of its own."""
_ALONE_SECONDS = 0.5
"""How long a file that is read while nothing else is waits for that, before others have their turn again."""
_LATE_SECONDS = 10.0
"""How long bytes must be unread to count as backlog: those that are being read right now do not."""


class Follower:
    """Tails every log below some folders, or single files, until stopped.

    `poll`: scan every so many seconds instead of waiting for notifications of the kernel; None decides by
    file system. `at_once`: how many runs are read in parallel, for a sink that several threads may call; the
    files of one run are read one after the other in any case. `host` is put before the paths in the names of
    sources, for a sink that receives from several machines. A file that cannot be read, or a failing sink,
    is retried later and never stops the other files. `failures`: files that are set aside or suspected since
    an earlier process failed at them; the suspected ones are read while nothing else is. `expect_cursors` is
    told the sources whose cursors the sink will be asked for soon. Of a file at most `slice_bytes` of its
    content, or what takes `slice_seconds` of processor time, are read before it is the others' turn. Where
    several runs are read in parallel, nobody waits for a file that yields nothing for long, and what is
    appended to known files is read by a thread of its own while a scan or a turn takes long.
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
        failures: FileFailures = NO_FAILURES,
        expect_cursors: Callable[[Sequence[str]], object] = lambda _: None,
        slice_bytes: int = 16 * 2**20,
        slice_seconds: float = 1.0,
    ) -> None:
        self._slice_bytes, self._slice_seconds = slice_bytes, slice_seconds
        self._unfinished: dict[Path, None] = {}
        self._scan_seconds = 0.0
        self._expect_cursors = expect_cursors
        self._sink, self._project, self._clock, self._host = sink, project, clock, host
        self._stop = stop or threading.Event()
        self._poll, self._at_once, self._failures = poll, at_once, failures
        known = known or formats()
        resolved = dict.fromkeys(path.resolve() for path in roots)
        self._trees = {root: self._new_tree(root, known) for root in resolved}
        self._tails: dict[Path, Tail] = {}
        self._sources: dict[Path, dict[Path, Source]] = {}
        self._pauses: dict[Path, tuple[float, float]] = {}
        self._last_error = ""
        self._undetected: dict[Path, str] = {}
        self._copying: dict[Path, float] = {}
        self._open: dict[Path, None] = {}
        self._out_of_memory: list[Source] = []
        self._lock = threading.Lock()
        self._reading = ReadingLocks()
        self._pool = ReadingPool(at_once, self._stop, seconds=_SCAN_AFTER)
        self._postponed: set[Path] = set()
        self._busy_since: float | None = None

    def run(self) -> None:
        """Tail until the stop is set."""
        self.catch_up()
        watch = FolderWatch(list(self._trees), poll=self._poll, clock=self._clock, stop=self._stop)
        with self._threads():
            for changes in watch.changes():
                self._busy_since = time.monotonic()
                for root in changes.sweep:
                    self._sweep(root)
                    watch.swept(root, self._scan_seconds)
                self._read_changed(changes.paths)
                self._search_on()
                self._read_unfinished()
                self._retry_failed()
                self._busy_since = None
                if self._stop.is_set():
                    return

    def catch_up(self) -> None:
        """Read everything that is new, once."""
        with self._threads():
            self._busy_since = time.monotonic()
            for root in self._trees:
                self._sweep(root)
            while self._has_more() and not self._stop.is_set():
                for root in self._trees:  # there may be new files
                    self._sweep(root)

    def _has_more(self) -> bool:
        """Whether something is left to read; waits a moment if all of that is being read."""
        is_searching = any(tree.is_searching for tree in self._trees.values())
        if self._unfinished or self._postponed or is_searching:
            return True
        return not self._reading.wait_until_free(1.0) or bool(self._unfinished)

    @contextmanager
    def _threads(self) -> Iterator[None]:
        """Have the threads that read, where several runs are read in parallel."""
        if self._at_once == 1:
            yield
            return
        ended = threading.Event()
        grown = threading.Thread(
            target=read_grown_files, args=(self._read_grown, ended), name="holter-grown", daemon=True
        )
        grown.start()
        try:
            with self._pool.started():
                yield
        finally:
            ended.set()
            grown.join()

    def summary(self) -> list[str]:
        """A line for each root: how many logs of how many runs are known there."""
        return [_summary_line(root, self._sources.get(root, {})) for root in self._trees]

    def lag(self) -> TailingLag:
        """How far reading is behind writing; called from another thread."""
        backlogs = [tail.backlog() for tail in list(self._tails.values())]
        late = [(size, seconds) for size, seconds in backlogs if size and seconds > _LATE_SECONDS]
        return TailingLag(
            files=len(backlogs),
            files_behind=len(late),
            bytes_behind=sum(size for size, _ in late),
            seconds_behind=max((seconds for _, seconds in late), default=0.0),
            failing=len(self._pauses),
            last_error=self._last_error if self._pauses else "",
        )

    def _sweep(self, root: Path) -> None:
        """Scan for new logs below a root, and read every one there that has changed.

        An unexpected error is logged; the next sweep tries again, and other roots are not concerned.
        """
        try:
            self._scan_and_read(root)
            self._report_undetected(root)
        except Exception as error:
            self._last_error = f"{root} cannot be scanned: {error}"
            _log.warning("%s: the scan failed and is repeated: %s", root, describe_error(error))
            _log.debug("%s: the scan failed", root, exc_info=error)
            for path in self._sources.get(root, {}):  # read on when it can be scanned again
                self._unfinished.pop(path, None)

    def _report_undetected(self, root: Path) -> None:
        """Report files at which a format failed while their format was looked for, each problem once."""
        for path, problem in self._trees[root].problems().items():
            if self._undetected.get(path) != problem:
                unreadable = Unreadable(
                    location="file", reason=problem, source=self._name(path), project=self._project
                )
                self._sink.report_unreadable(unreadable)
                self._undetected[path] = problem

    def _scan_and_read(self, root: Path) -> None:
        elsewhere = {path for other, sources in self._sources.items() if other != root for path in sources}
        began = self._clock()
        found = {source.path: source for source in self._trees[root].scan() if source.path not in elsewhere}
        self._scan_seconds = self._clock() - began
        for path, source in self._sources.get(root, {}).items():
            if path not in found or found[path].format is not source.format:  # gone, or of another format now
                with self._reading.lock(*_lock_names([source])) as is_free:
                    if is_free:
                        self._leave(path)
                        self._pauses.pop(path, None)
                    else:  # it is being read: the next sweep leaves it
                        found[path] = source
        self._sources[root] = found
        self._read_turns(root)

    def _read_unfinished(self) -> None:
        """Read on in files of which only a part was read before."""
        roots = {
            root for root, found in self._sources.items() if not self._unfinished.keys().isdisjoint(found)
        } | self._postponed
        for root in roots:
            self._read_turns(root)

    def _read_turns(self, root: Path) -> None:
        """Read what has changed below a root, a part of each file at a time, until it is time for a scan."""
        began = self._clock()
        while True:
            self._postponed.discard(root)
            self._read_turn(self._sources[root])
            is_over = self._clock() - began >= _SCAN_AFTER
            is_left = root in self._postponed or not self._unfinished.keys().isdisjoint(self._sources[root])
            if is_over or self._stop.is_set() or not is_left:
                return

    def _read_turn(self, found: Mapping[Path, Source]) -> None:
        """Read what has changed, a part of each file."""
        changed = [source for source in found.values() if self._has_changed(source)]
        new = [source for source in changed if source.path not in self._tails]
        if len(new) > 1:
            self._expect_cursors([self._name(source.tailed_as or source.path) for source in new])
        self._read_sources(changed)

    def _read_sources(self, changed: Iterable[Source]) -> None:
        """Read a part of each of these files: those of a run one after the other."""
        runs: dict[str, list[Source]] = {}
        for source in changed:
            runs.setdefault(source.assignment.run, []).append(source)
        suspected = [
            run
            for run, sources in runs.items()
            if any(self._failures.is_suspected(str(source.path)) for source in sources)
        ]
        alone = [runs.pop(run) for run in suspected]
        if self._at_once == 1:
            alone = [*runs.values(), *alone]
        else:  # a sink that takes time to answer accepts several deliveries in the time of one
            left = self._pool.read(_newest_first(runs.values()), self._read_unless_locked)
            self._postpone(source for sources in left for source in sources)
            alone = [[self._out_of_memory.pop()] for _ in range(len(self._out_of_memory))] + alone
        for sources in alone:
            self._reading.wait_until_free(_ALONE_SECONDS)
            with self._reading.lock_all() as is_alone:
                if is_alone:
                    self._read_in_order(sources)
                else:
                    self._postpone(sources)

    def _read_unless_locked(self, sources: Sequence[Source]) -> None:
        """Read files of a run, unless another thread is reading it."""
        with self._reading.lock(*_lock_names(sources)) as is_free:
            if is_free:
                self._read_in_order(sources, alone=False)

    def _postpone(self, sources: Iterable[Source]) -> None:
        """Read the folders of these files again as soon as others have had their turn."""
        paths = {source.path for source in sources}
        self._postponed.update(root for root, found in self._sources.items() if not paths.isdisjoint(found))

    def _read_grown(self) -> None:
        """Read what was appended to known files, little at a time, while other work takes long."""
        since = self._busy_since
        if since is None or time.monotonic() - since < _BUSY_SECONDS:
            return
        sources = [source for found in list(self._sources.values()) for source in list(found.values())]
        for grown in small_growth(sources, self._tails, self._unfinished):
            if self._stop.is_set():
                return
            if not any(self._failures.is_suspected(str(source.path)) for source in grown):
                self._read_unless_locked(grown)

    def _search_on(self) -> None:
        """Search on in long texts without a record so far; where one is found, its root is swept."""
        for root, tree in self._trees.items():
            if tree.search_on():
                self._sweep(root)

    def _has_changed(self, source: Source) -> bool:
        tail = self._tails.get(source.path)
        try:
            return tail is None or tail.has_changed()
        except OSError:
            return True

    def _read_in_order(self, sources: Iterable[Source], *, alone: bool = True) -> None:
        unfinished = set()
        for source in sources:
            if self._stop.is_set():
                return
            if source.assignment.writer in unfinished:  # it may continue the other
                continue
            try:
                self._read(source, alone=alone)
            except MemoryError:  # another file may have taken the memory: it is read again on its own
                if alone:
                    raise
                self._out_of_memory.append(source)
            if source.path in self._unfinished:
                unfinished.add(source.assignment.writer)

    def _read_changed(self, paths: Iterable[Path]) -> None:
        """Read files that were reported as changed; for an unknown one its root is swept."""
        unknown: set[Path] = set()
        known: list[Source] = []
        for path in sorted(paths):
            source = self._source(path)
            if source is not None:
                known.append(source)
            else:
                unknown.update(root for root in self._trees if self._may_be_log(root, path))
        self._read_sources(known)
        for root in unknown:
            self._sweep(root)

    def _retry_failed(self) -> None:
        """Read what failed before, if its pause is over."""
        due = [path for path, (until, _) in list(self._pauses.items()) if self._clock() >= until]
        self._read_sources(source for path in due if (source := self._source(path)) is not None)

    def _source(self, path: Path) -> Source | None:
        return next((sources[path] for sources in self._sources.values() if path in sources), None)

    def _may_be_log(self, root: Path, path: Path) -> bool:
        return path.is_relative_to(root) and (path.is_dir() or self._trees[root].is_new(path))

    def _read(self, source: Source, *, alone: bool = True) -> None:
        """Read one log; after a failure it is paused for a while, longer each time.

        Raises MemoryError where others are read at the same time (`alone` is False).
        """
        path = source.path
        until, pause = self._pauses.get(path, (0.0, _FIRST_PAUSE))
        if self._clock() < until or self._failures.is_aside(str(path), time.monotonic()):
            return
        try:
            others = len(self._unfinished) - (path in self._unfinished)
            self._unfinished.pop(path, None)
            with self._task(source):
                tail = self._tail(source)
                if tail is not None:
                    is_sliced = path.suffix != ".gz" or others < _MAX_UNFINISHED
                    part = TimeSlice(self._slice_bytes, self._slice_seconds)
                    tail.read_new(final=alone, time_slice=part if is_sliced else None)
                    if tail.is_unfinished:
                        self._unfinished[path] = None
                    self._mark_open(path)
            self._pauses.pop(path, None)
        except FileNotFoundError:  # the next sweep notices
            self._leave(path)
        except UnreadableLogError as error:  # reported already
            self._last_error = f"{path} cannot be read: {error}"
            self._pauses[path] = (self._clock() + pause, min(2 * pause, _LONGEST_PAUSE))
        except MemoryError:
            if not alone:
                raise
        except Exception as error:  # a fault of one log or one call must not stop the others
            self._last_error = f"{path} cannot be read: {error}"
            self._pauses[path] = (self._clock() + pause, min(2 * pause, _LONGEST_PAUSE))
            known = isinstance(error, OSError | SinkError)
            _log.warning("%s: retried in %g s: %s", path, pause, error, exc_info=None if known else error)

    def _tail(self, source: Source) -> Tail | None:
        """The tail of a log; None while the file may be becoming a copy of another."""
        tail = self._tails.get(source.path)
        if tail is not None and not (tail.is_another_file() and not tail.is_intact()):
            return tail
        fresh = self._new_tail(source)  # another log that was read before may have been moved here
        if not (fresh.has_begun and fresh.is_intact()):
            if self._is_copy(source):
                return None
            if predecessors(source.path.name):  # it may have got the cursor of the one that it continues
                fresh = self._new_tail(source)
        if tail is None or (fresh.has_begun and fresh.is_intact()):
            self._drop(source.path)
            tail = self._tails[source.path] = fresh
        return tail

    def _task(self, source: Source) -> AbstractContextManager[None]:
        name = self._name(source.tailed_as or source.path)
        return file_task(source.path, "read", name=name, run=source.assignment.run, format=source.format.name)

    def _is_undetectable(self, path: str) -> bool:
        """Whether the format of a file is not looked for now, since that failed."""
        return self._failures.is_aside(path, time.monotonic(), in_detection=True)

    def _new_tree(self, root: Path, known: Mapping[str, Format]) -> LogTree:
        return LogTree(root, known, is_skipped=self._is_undetectable, search_seconds=_SEARCH_SECONDS)

    def _new_tail(self, source: Source) -> Tail:
        # files that contain the same log in turn are tailed under one name
        names = self._name if source.tailed_as is None else partial(self._fixed_name, source.tailed_as)
        return Tail(source, self._sink, project=self._project, names=names, clock=self._clock)

    def _fixed_name(self, path: Path, _: Path) -> str:
        return self._name(path)

    def _name(self, path: Path) -> str:
        return storable_text(f"{self._host}:{path}" if self._host else str(path))

    def _is_copy(self, source: Source) -> bool:
        """Whether a log is becoming a copy of another; one that is complete continues that one."""
        names = predecessors(source.path.name)
        for name in names if names and self._is_known(source, names[-1]) else ():
            tail = self._neighbour(source, name)
            if tail.has_begun:
                if tail.continue_at(source.path):
                    return False
                if tail.may_be_copied_to(source.path):
                    if self._clock() - self._copying.setdefault(source.path, self._clock()) < _COPY_SECONDS:
                        return True
                    break
        self._copying.pop(source.path, None)
        return False

    def _is_known(self, source: Source, name: str) -> bool:
        """Whether a file of this name is next to a log, or has been read: not so for the logs of ranks."""
        return source.path.with_name(name).exists() or self._neighbour(source, name).has_begun

    def _neighbour(self, source: Source, name: str) -> Tail:
        path = source.path.with_name(name)
        return self._tails.get(path) or self._new_tail(replace(source, path=path))

    def _leave(self, path: Path) -> None:
        """Read the rest of a log that is no longer at its path, from wherever it can be read."""
        tail = self._tails.get(path)
        if tail is not None:
            try:
                tail.finish()
            except Exception as error:
                _log.warning("%s: the rest of a file that is gone is not read: %s", path, error)
                _log.debug("%s: the rest is not read", path, exc_info=error)
        self._drop(path)

    def _drop(self, path: Path) -> None:
        self._unfinished.pop(path, None)
        tail = self._tails.pop(path, None)
        self._open.pop(path, None)
        self._copying.pop(path, None)
        if tail is not None:
            tail.close()

    def _mark_open(self, path: Path) -> None:
        """Leave the files open that changed last, in bounded number."""
        with self._lock:
            self._open.pop(path, None)
            self._open[path] = None
            limit = min(_MAX_OPEN_FILES, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 8)
            while len(self._open) > limit:
                oldest = next(iter(self._open))
                del self._open[oldest]
                if (tail := self._tails.get(oldest)) is not None:
                    tail.close()


def _lock_names(sources: Iterable[Source]) -> set[str]:
    """A run is read by one thread at a time, and so is a file, whose run may change."""
    return {name for source in sources for name in (f"run {source.assignment.run}", f"file {source.path}")}


def _newest_first(runs: Iterable[Sequence[Source]]) -> list[Sequence[Source]]:
    """The runs, those first in which a file was written last."""
    return sorted(runs, key=lambda sources: -max(map(_modified, sources)))


def _modified(source: Source) -> float:
    try:
        return source.path.stat().st_mtime
    except OSError:
        return 0.0


def _summary_line(root: Path, sources: Mapping[Path, Source]) -> str:
    if not sources and root.is_file():
        return f"{root}: no log of a known format yet; `holter analyze` reads other files that are complete"
    if not sources:
        return f"{root}: no logs of a known format yet; new ones are read as they appear"
    runs = len({source.assignment.run for source in sources.values()})
    return f"{root}: {counted(len(sources), 'log')} of {counted(runs, 'run')}"
