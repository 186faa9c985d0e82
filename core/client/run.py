"""A run, as a training process sees it: `init`, `log`, `finish`."""

from __future__ import annotations

import atexit
import os
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from struct import Struct
from types import TracebackType
from typing import Any, NamedTuple

from holter.client.encode import MAX_VALUES, Envelope
from holter.client.exit_status import Ending
from holter.client.identity import default_name, detect
from holter.client.notices import Notices
from holter.client.pipe import RESTING, Ends, Pipe, connect, end_all
from holter.client.recorder import Recorder
from holter.client.uploader import Access
from holter.client.values import MAX_NAME, MAX_STEP, are_names, clean, flatten, plain, to_float, to_step
from holter.plurals import counted

DEFAULT_SERVER = "http://127.0.0.1:8765"
SPOOL_BYTES = 2**30
LEAST_SPOOL_BYTES = 2**21
MEMORY_VALUES = 4_000_000  # about 32 MB, reached only while the disk cannot be written
ROW_COST = 30  # what a row costs besides its values, in values
KNOWN_LAYOUTS = 1_000
EXIT_SECONDS = 5.0
FINISH_SECONDS = 30.0
WAKE_ROWS = 4_096
GIVE_WAY_SECONDS = 0.001  # once in so many calls, and only where memory would fill
OFF = "log() is ignored: this run is finished, or another process opened it"
now = time.time


class Layout(NamedTuple):
    """What calls of `log` with the same names have in common."""

    names: tuple[str, ...]
    listed: list[str]  # the same names: what a call brings is sooner a list than a tuple
    pack: Callable[..., bytes]
    wake: int  # rows, after which they go to disk: a body is full, or many calls have been made
    most: int  # rows that memory holds


def layout(names: tuple[str, ...]) -> Layout:
    wake = min(WAKE_ROWS, max(1, MAX_VALUES // max(1, len(names))))
    most = MEMORY_VALUES // (len(names) + ROW_COST)
    return Layout(names, list(names), Struct(f"{len(names)}d").pack, wake, most)


class Run:
    """Takes what a training loop logs. Never raises, never waits for disk or network, but in `finish`.

    Made by `init`. `log` may be called from several threads and from signal handlers. In a forked child
    (a data loader's worker) it ignores what it is given.
    """

    def __init__(self, pipe: Pipe | None, notices: Notices, *, leads: bool = True) -> None:
        self._pipe = pipe
        self._leads = leads  # whether it is this process's to say that the run is over
        self._recorder = None if pipe is None else pipe.recorder
        self._notices = notices
        self._step = -1
        self._layouts: dict[tuple[str, ...], Layout] = {}
        self._usual = layout(())

    def log(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        """Log numbers under their names, at `step` (counted up from the last one where it is None).

        Takes int, float, bool and whatever converts with `__float__` (numpy and torch scalars); NaN and
        infinities are data. Nested mappings are joined by "/". Anything else is ignored with one warning.
        """
        try:  # every line here is run in the training loop
            if type(step) is not int or not 0 <= step <= MAX_STEP:
                if (whole := self._counted(step)) is None:
                    return
                step = whole
            self._step = step
            try:
                usual = self._usual
                if [*metrics] != usual.listed:
                    self._usual = usual = self._layouts[tuple(metrics)]
                values = usual.pack(*metrics.values())
            except Exception:
                usual, values = self._look_closely(metrics)
            if (recorder := self._recorder) is None:
                self._notices.note("off", OFF)
                return
            rows = recorder.rows
            if (held := len(rows)) >= usual.most:
                recorder.dropped += len(usual.names)
            elif usual.names:
                rows.append((usual.names, step, now(), values))
                if not (held + 1) % usual.wake:
                    self._wake(recorder, held > usual.wake)
        except Exception as error:
            self._notices.note("log", f"a call of log() was ignored: {type(error).__name__} in its values")

    def _counted(self, step: object) -> int | None:
        """The step of a call that says none, or not as a plain number; None where it is no step."""
        if step is None:
            return self._step + 1
        if (whole := to_step(step)) is None:
            self._notices.note("step", "ignored what came with a step that is no whole number from 0 on")
        return whole

    def _wake(self, recorder: Recorder, behind: bool) -> None:
        recorder.wake.put(False)
        if behind:  # a loop that does nothing but log would starve the writing thread
            time.sleep(GIVE_WAY_SECONDS)

    def _look_closely(self, metrics: Mapping[str, Any]) -> tuple[Layout, bytes]:
        """Layout and values of a call whose names are new, or that is odd."""
        names = tuple(metrics)
        if are_names(names):
            laid = layout(names)
            try:
                values = laid.pack(*metrics.values())
            except Exception:  # something among them is no number
                pass
            else:
                self._keep(laid)
                return laid, values
        return self._look_at_each(metrics)

    def _look_at_each(self, metrics: Mapping[str, Any]) -> tuple[Layout, bytes]:
        """Layout and values of what is good of a call, with a note of what is not."""
        found: dict[str, float] = {}
        for name, value in flatten(metrics):
            number = to_float(value)
            if number is None:
                self._notices.note(
                    "value", f"{name!r} is ignored, as others may be: {type(value).__name__} is no number"
                )
            elif not are_names((name,)):
                self._notices.note(
                    "name", f"{name[:40]!r} is no name for a metric (1 to {MAX_NAME} printable characters)"
                )
            else:
                found[name] = number
        laid = layout(tuple(found))
        if laid.names == tuple(metrics):
            self._keep(laid)
        return laid, laid.pack(*found.values())

    def _keep(self, laid: Layout) -> None:
        if len(self._layouts) >= KNOWN_LAYOUTS:
            self._layouts = {}
        self._layouts[laid.names] = laid

    def finish(self, timeout: float = FINISH_SECONDS) -> None:
        """Say that the run has ended, and wait at most `timeout` seconds until everything is sent.

        What could not be sent stays on disk; the next `holter.init` on this host sends it, or
        `holter agent --spool`. Of several ranks, rank 0 ends the run.
        """
        self.close(timeout, ended=True)

    def close(self, timeout: float, *, ended: bool = False) -> None:
        """Stop logging; `ended` says that the training is over, and not only this process."""
        OPEN.discard(self)
        pipe, self._pipe, self._recorder = self._pipe, None, None
        if pipe is None:
            return
        deadline = time.monotonic() + timeout
        pipe.recorder.close(timeout / 2, ended=ended and self._leads)
        sent = pipe.sender.close(max(0.0, deadline - time.monotonic()))
        if dropped := pipe.recorder.dropped:
            lost = f"{counted(dropped, 'point')} dropped: no room on disk or in memory"
            self._notices.note("dropped", lost)
        left = not sent or not pipe.sender.sent or not pipe.spool.clean
        if left:
            self._notices.note("left", f"what the server has not taken is kept in {pipe.spool.folder}")
        self._notices.say()
        pipe.finish(sent=not left)

    def abandon(self) -> None:
        """In a forked child: neither log nor send, and keep no hold on the parent's spool."""
        if self._pipe is not None:
            self._pipe.spool.let_go()
            self._pipe = self._recorder = None

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(EXIT_SECONDS if kind else FINISH_SECONDS, ended=kind is None)


OPEN: set[Run] = set()
ENDING = Ending()


def init(
    project: str = "default",
    run: str | None = None,
    config: Mapping[str, Any] | None = None,
    *,
    server: str | None = None,
    token: str | None = None,
    attempt: str | int | None = None,
    labels: Mapping[str, object] | None = None,
    spool: str | os.PathLike[str] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Run:
    """Open a run for this process. A run of the same project and name goes on, as its next attempt.

    Where an argument is left out, the environment decides: HOLTER_SERVER, HOLTER_TOKEN, HOLTER_RUN,
    HOLTER_ATTEMPT, HOLTER_SPOOL_DIR, HOLTER_SPOOL_BYTES. Never raises: when nothing can be recorded it
    says so once, and the run it returns ignores what it is given.
    """
    notices = Notices()
    try:
        identity = detect(environ, attempt=None if attempt is None else str(attempt))
        own = {"rank": identity.rank} if identity.rank is not None else {}
        envelope = Envelope(
            project=clean(project, 200) or "default",
            run=clean(run or environ.get("HOLTER_RUN"), 500) or default_name(environ),
            writer=identity.writer,
            nonce=identity.nonce,
            attempt=clean(identity.attempt, 200) or None,
            labels={
                clean(name, 200): clean(value, 200) or "-"
                for name, value in (own | dict(labels or {})).items()
            },
            config=plain(config or {}),
        )
        access = Access(
            server=server or environ.get("HOLTER_SERVER") or DEFAULT_SERVER,
            token=token or environ.get("HOLTER_TOKEN"),
        )
        ends = Ends(places=roots(spool, environ), limit=bound(environ), access=access)
        pipe = connect(ends, identity, envelope, notices)
    except Exception as error:
        notices.note("off", f"nothing will be recorded: {type(error).__name__}: {error}")
        notices.say()
        return Run(None, notices)
    opened = Run(pipe, notices, leads=identity.rank in (None, 0))
    OPEN.add(opened)
    ENDING.watch()
    return opened


def roots(spool: str | os.PathLike[str] | None, environ: Mapping[str, str]) -> list[Path]:
    """Where the spool may be, best first."""
    cache = Path(environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME") or "~").expanduser() / ".cache")
    chosen = spool or environ.get("HOLTER_SPOOL_DIR") or cache / "holter" / "spool"
    return [Path(chosen), Path(tempfile.gettempdir()) / f"holter-spool-{os.getuid()}"]


def bound(environ: Mapping[str, str]) -> int:
    """How many bytes the spool of one process may take: a few bodies at least."""
    return max(LEAST_SPOOL_BYTES, int(environ.get("HOLTER_SPOOL_BYTES") or SPOOL_BYTES))


def close_all() -> None:
    """At exit: write and send what is left, and that the runs are over unless something went wrong.

    Holds up the exit for `EXIT_SECONDS` at most, however many runs are open.
    """
    ended, deadline = ENDING.in_order(), time.monotonic() + EXIT_SECONDS
    for run in list(OPEN):
        run.close(max(0.0, deadline - time.monotonic()), ended=ended)
    end_all(RESTING.take_all(), max(0.0, deadline - time.monotonic()))


def abandon_all() -> None:
    """In a forked child."""
    for run in list(OPEN):
        run.abandon()
    OPEN.clear()
    RESTING.let_go()


atexit.register(close_all)
os.register_at_fork(after_in_child=abandon_all)
