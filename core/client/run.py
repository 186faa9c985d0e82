"""The client's public interface: `init`, `Run.log`, `Run.finish`."""

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
from holter.client.environment import CAPTURE_SECONDS, EnvironmentCapture, capture_of_rank, is_enabled
from holter.client.exit_status import ExitStatus
from holter.client.identity import default_run_name, detect
from holter.client.notices import Notices
from holter.client.pipeline import IDLE_PIPELINES, Pipeline, PipelineConfig, end_all, open_pipeline
from holter.client.recorder import Recorder
from holter.client.status import NO_STATUS, LiveStatus, StatusPoller
from holter.client.uploader import ServerAccess
from holter.client.values import (
    MAX_NAME,
    MAX_STEP,
    clean_name,
    flatten,
    to_float,
    to_json_value,
    to_step,
    valid_names,
)
from holter.plurals import counted

DEFAULT_SERVER = "http://127.0.0.1:8765"
SPOOL_BYTES = 2**30
MIN_SPOOL_BYTES = 2**21
MEMORY_VALUES = 4_000_000  # about 32 MB, reached only while the disk cannot be written
ROW_COST = 30  # overhead of a row, in values
MAX_LAYOUTS = 1_000
EXIT_SECONDS = 5.0
FINISH_SECONDS = 30.0
WAKE_ROWS = 4_096
YIELD_SECONDS = 0.001  # once in WAKE_ROWS calls, and only if the recorder falls behind
RUN_CLOSED = "log() is ignored: this run is finished, or another process opened it"
now = time.time


class CallLayout(NamedTuple):
    """Data shared by calls of `log` with the same names."""

    names: tuple[str, ...]
    name_list: list[str]  # the same names as a list, which is faster to compare with a call
    pack: Callable[..., bytes]
    wake: int  # number of rows after which the recorder is woken
    max_rows: int  # rows that memory may hold


def make_layout(names: tuple[str, ...]) -> CallLayout:
    wake = min(WAKE_ROWS, max(1, MAX_VALUES // max(1, len(names))))
    most = MEMORY_VALUES // (len(names) + ROW_COST)
    return CallLayout(names, list(names), Struct(f"{len(names)}d").pack, wake, most)


class Run:
    """A run of this process. Never raises; only `finish` waits for disk or network.

    Created by `init`. `log` may be called from several threads and from signal handlers. In a forked child
    (a data loader worker) it does nothing.
    """

    def __init__(
        self,
        pipeline: Pipeline | None,
        notices: Notices,
        *,
        ends_run: bool = True,
        poller: StatusPoller | None = None,
        capture: EnvironmentCapture | None = None,
    ) -> None:
        self._pipeline = pipeline
        self._poller = poller
        self._capture = capture
        self._ends_run = ends_run  # whether this process reports the end of the run
        self._recorder = None if pipeline is None else pipeline.recorder
        self._notices = notices
        self._step = -1
        self._layouts: dict[tuple[str, ...], CallLayout] = {}
        self._last_layout = make_layout(())

    def log(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        """Log metrics at `step` (None: the previous step plus one).

        Values are int, float, bool and types with `__float__` (numpy and torch scalars); NaN and infinities
        are stored. Names of nested mappings are joined by "/". Other values are ignored with one warning.
        """
        try:  # runs in the training loop: every line counts
            if type(step) is not int or not 0 <= step <= MAX_STEP:
                if (whole := self._resolve_step(step)) is None:
                    return
                step = whole
            self._step = step
            try:
                usual = self._last_layout
                if [*metrics] != usual.name_list:
                    self._last_layout = usual = self._layouts[tuple(metrics)]
                values = usual.pack(*metrics.values())
            except Exception:
                usual, values = self._convert_new_call(metrics)
            if (recorder := self._recorder) is None:
                self._notices.note("off", RUN_CLOSED)
                return
            rows = recorder.rows
            if (waiting := len(rows)) >= usual.max_rows:
                recorder.dropped += len(usual.names)
            elif usual.names:
                rows.append((usual.names, step, now(), values))
                if not (waiting + 1) % usual.wake:
                    self._wake(recorder, waiting > usual.wake)
        except Exception as error:
            self._notices.note("log", f"a call of log() was ignored: {type(error).__name__} in its values")

    def _resolve_step(self, step: object) -> int | None:
        """Return the step of a call without a plain integer step; None if it is invalid."""
        if step is None:
            return self._step + 1
        if (whole := to_step(step)) is None:
            self._notices.note("step", "a call of log() was ignored: step must be a whole number from 0 on")
        return whole

    def _wake(self, recorder: Recorder, behind: bool) -> None:
        recorder.wake.put(False)
        if behind:  # a loop that only logs would starve the recorder thread
            time.sleep(YIELD_SECONDS)

    def _convert_new_call(self, metrics: Mapping[str, Any]) -> tuple[CallLayout, bytes]:
        """Return layout and packed values of a call with new names or unusual values."""
        names = tuple(metrics)
        if valid_names(names):
            layout = make_layout(names)
            try:
                values = layout.pack(*metrics.values())
            except Exception:  # a value is not a number
                pass
            else:
                self._cache_layout(layout)
                return layout, values
        return self._convert_each(metrics)

    def _convert_each(self, metrics: Mapping[str, Any]) -> tuple[CallLayout, bytes]:
        """Return layout and packed values of the valid metrics of a call, with a warning for the others."""
        valid: dict[str, float] = {}
        for name, value in flatten(metrics):
            number = to_float(value)
            if number is None:
                self._notices.note(
                    "value",
                    f"{name!r} (and perhaps others) is ignored: {type(value).__name__} is not a number",
                )
            elif not valid_names((name,)):
                self._notices.note(
                    "name", f"{name[:40]!r} is not a valid metric name (1 to {MAX_NAME} printable characters)"
                )
            else:
                valid[name] = number
        layout = make_layout(tuple(valid))
        if layout.names == tuple(metrics):
            self._cache_layout(layout)
        return layout, layout.pack(*valid.values())

    def _cache_layout(self, layout: CallLayout) -> None:
        if len(self._layouts) >= MAX_LAYOUTS:
            self._layouts = {}
        self._layouts[layout.names] = layout

    def status(self) -> LiveStatus:
        """Return what the server knows about this run: open incidents, requests to stop and to save.

        Costs less than a microsecond and never waits: the first call starts a background thread that asks
        the server about every 5 seconds, and each call returns its newest answer.
        """
        poller = self._poller
        if poller is None:
            return NO_STATUS
        if not poller.started:
            self._start_poller(poller)
        return poller.status

    def _start_poller(self, poller: StatusPoller) -> None:
        try:
            poller.start()
        except RuntimeError as error:  # no thread can be started
            self._notices.note("status", f"the status of the run is not known: {error}")

    def report_saved(self, step: int | None = None, seconds: float | None = None) -> None:
        """Report that the checkpoint that `status().save` asks for is saved, at which step and how fast."""
        if self._poller is not None:
            self._poller.report_saved(None if step is None else to_step(step), to_float(seconds))

    def finish(self, timeout: float = FINISH_SECONDS) -> None:
        """Report that the run has ended and wait at most `timeout` seconds until everything is sent.

        Unsent data stay on disk; the next `holter.init` on this host or `holter agent --spool` sends them.
        With several ranks, rank 0 ends the run.
        """
        self.close(timeout, ended=True)

    def close(self, timeout: float, *, ended: bool = False) -> None:
        """Stop logging; `ended`: the training has ended, not only this process."""
        OPEN_RUNS.discard(self)
        pipeline, self._pipeline, self._recorder = self._pipeline, None, None
        if pipeline is None:
            return
        deadline = time.monotonic() + timeout
        if self._poller is not None:
            self._poller.close(timeout / 4, ended=ended)
        if self._capture is not None:  # of a run that ends right after its start
            self._capture.wait(min(timeout / 4, CAPTURE_SECONDS))
        pipeline.recorder.close(timeout / 2, ended=ended and self._ends_run)
        sent = pipeline.uploader.close(max(0.0, deadline - time.monotonic()))
        if dropped := pipeline.recorder.dropped:
            lost = f"{counted(dropped, 'point')} dropped: no space on disk or in memory"
            self._notices.note("dropped", lost)
        left = not sent or not pipeline.uploader.sent or not pipeline.spool.clean
        if left:
            self._notices.note("left", f"unsent data are stored in {pipeline.spool.folder}")
        self._notices.flush()
        pipeline.finish(sent=not left)

    def abandon(self) -> None:
        """In a forked child: stop logging and release the copy of the parent's spool lock."""
        if self._pipeline is not None:
            self._pipeline.spool.release_lock()
            self._pipeline = self._recorder = self._poller = None

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(EXIT_SECONDS if kind else FINISH_SECONDS, ended=kind is None)


OPEN_RUNS: set[Run] = set()
CAPTURES: dict[int | None, EnvironmentCapture | None] = {}
"""The capture of this process's environment, by the rank it was made for."""
EXIT_STATUS = ExitStatus()


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
    """Open a run. An existing run of the same project and name continues with its next attempt.

    Arguments default to the environment: HOLTER_SERVER, HOLTER_TOKEN, HOLTER_RUN, HOLTER_ATTEMPT,
    HOLTER_SPOOL_DIR, HOLTER_SPOOL_BYTES. Never raises: if nothing can be recorded it warns once, and the
    returned run ignores all calls.
    """
    notices = Notices()
    try:
        identity = detect(environ, attempt=None if attempt is None else str(attempt))
        own = {"rank": identity.rank} if identity.rank is not None else {}
        envelope = Envelope(
            project=clean_name(project, 200) or "default",
            run=clean_name(run or environ.get("HOLTER_RUN"), 500) or default_run_name(environ),
            writer=identity.writer,
            nonce=identity.nonce,
            attempt=clean_name(identity.attempt, 200) or None,
            labels={
                clean_name(name, 200): clean_name(value, 200) or "-"
                for name, value in (own | dict(labels or {})).items()
            },
            config=to_json_value(config or {}),
            setting_labels={} if identity.rank in (None, 0) else {"host": clean_name(identity.host, 200)},
        )
        access = ServerAccess(
            server=server or environ.get("HOLTER_SERVER") or DEFAULT_SERVER,
            token=token or environ.get("HOLTER_TOKEN"),
        )
        config_ = PipelineConfig(
            folders=spool_folders(spool, environ), limit=spool_limit(environ), access=access
        )
        pipeline = open_pipeline(config_, identity, envelope, notices)
    except Exception as error:
        notices.note("off", f"nothing will be recorded: {type(error).__name__}: {error}")
        notices.flush()
        return Run(None, notices)
    poller = StatusPoller(access, envelope.project, envelope.run, seed=identity.nonce)
    capture = send_environment(pipeline.recorder, identity.rank, environ)
    opened = Run(pipeline, notices, ends_run=identity.rank in (None, 0), poller=poller, capture=capture)
    OPEN_RUNS.add(opened)
    EXIT_STATUS.install()
    return opened


def send_environment(
    recorder: Recorder, rank: int | None, environ: Mapping[str, str]
) -> EnvironmentCapture | None:
    """Capture the environment of this launch in the background, once in a process, for the recorder."""
    if not is_enabled(environ):
        return None
    if rank not in CAPTURES:
        capture = capture_of_rank(environ, rank)
        CAPTURES[rank] = None if capture is None else EnvironmentCapture(capture)
    captured = CAPTURES[rank]
    try:
        if captured is not None:
            captured.send_to(recorder.statements.append)
    except RuntimeError:  # no thread can be started
        return None
    return captured


def spool_folders(spool: str | os.PathLike[str] | None, environ: Mapping[str, str]) -> list[Path]:
    """Return candidate folders for the spool, in order of preference."""
    cache = Path(environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME") or "~").expanduser() / ".cache")
    chosen = spool or environ.get("HOLTER_SPOOL_DIR") or cache / "holter" / "spool"
    return [Path(chosen), Path(tempfile.gettempdir()) / f"holter-spool-{os.getuid()}"]


def spool_limit(environ: Mapping[str, str]) -> int:
    """Return the size limit of a spool in bytes, enough for a few bodies."""
    return max(MIN_SPOOL_BYTES, int(environ.get("HOLTER_SPOOL_BYTES") or SPOOL_BYTES))


def close_all() -> None:
    """At exit: write and send the rest, and report the end of the runs unless the process failed.

    Delays the exit by `EXIT_SECONDS` at most for all open runs together.
    """
    ended, deadline = EXIT_STATUS.succeeded(), time.monotonic() + EXIT_SECONDS
    for run in list(OPEN_RUNS):
        run.close(max(0.0, deadline - time.monotonic()), ended=ended)
    end_all(IDLE_PIPELINES.take_all(), max(0.0, deadline - time.monotonic()))


def abandon_all() -> None:
    """In a forked child: abandon all runs and idle pipelines."""
    for run in list(OPEN_RUNS):
        run.abandon()
    OPEN_RUNS.clear()
    CAPTURES.clear()
    IDLE_PIPELINES.release_lock()


atexit.register(close_all)
os.register_at_fork(after_in_child=abandon_all)
