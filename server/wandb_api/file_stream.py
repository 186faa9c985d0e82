"""One chunk of a run's files: history, system metrics, summary, console output, and the end of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from math import isnan, nan
from typing import Any

import msgspec

from holter.ingest.rows import LogRow, batch_from_rows
from holter.ingest.wandb.step_metrics import FRAMEWORK_STEPS, TrainingStep, is_step_name
from holter.server.context import ServerContext
from holter.server.live import run_event
from holter.server.store.keys import storable_text
from holter.server.tracked_runs import RUN_LOCKS, TrackedRun, empty_delivery, open_run
from holter.server.wandb_api.config import digest, launch_config, read_config, training_step_of
from holter.server.wandb_api.console_output import OutputRecords, read_output
from holter.server.wandb_api.history_rows import HistoryLines, HistoryRow, history_rows, parse_lines
from holter.server.wandb_api.run_state import CONFIG_ATTRIBUTE, TRACKER, add_note, read_state, write_state
from holter.server.wandb_api.stream_state import (
    ClientStream,
    FirstLine,
    StreamLaunch,
    choose_launch,
)
from holter.types import Batch, Delivery

HISTORY, EVENTS, SUMMARY, OUTPUT = (
    "wandb-history.jsonl",
    "wandb-events.jsonl",
    "wandb-summary.json",
    "output.log",
)
MAX_SUMMARY_BYTES = 2**20
_ROWS_OF_A_BATCH = 10_000
_STORE_SECONDS = 30.0
_DEFINITION_SECONDS = 8.0
"""Clients send the definitions of metrics about 5 s after they were made."""
_MAX_CLIENTS = 4096
"""Clients of one run in shared mode whose progress is remembered."""


class DefinitionsPendingError(Exception):
    """The rows can be understood in some seconds only: the client should send them again."""


class InvalidChunkError(ValueError):
    """A body is no chunk of a run's files."""


@dataclass(frozen=True, slots=True)
class FileChunk:
    """Lines of one file from line `offset` on."""

    offset: int = 0
    lines: Sequence[object] = ()


@dataclass(frozen=True, slots=True)
class StreamRequest:
    """The body of a request to the file stream. `exit_code` where the run has ended with one."""

    files: Mapping[str, FileChunk]
    complete: bool = False
    exit_code: int | None = None
    preempting: bool = False


def parse_request(body: bytes) -> StreamRequest:
    """Decode a body. Raises InvalidChunkError."""
    try:
        content = msgspec.json.decode(body) if body else {}
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidChunkError(f"the body is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise InvalidChunkError("expected a JSON object")
    files = content.get("files") or {}
    exit_code = content.get("exitcode")
    return StreamRequest(
        files={name: _chunk(value) for name, value in files.items()} if isinstance(files, dict) else {},
        complete=content.get("complete") is True,
        exit_code=exit_code if isinstance(exit_code, int) and abs(exit_code) < 2**31 else None,
        preempting=content.get("preempting") is True,
    )


def _chunk(value: object) -> FileChunk:
    if not isinstance(value, dict):
        raise InvalidChunkError("expected {offset, content} for each file")
    offset, lines = value.get("offset", 0), value.get("content") or []
    if not isinstance(offset, int) or not 0 <= offset < 2**53 or not isinstance(lines, list):
        raise InvalidChunkError("expected a line number as offset and a list of lines as content")
    return FileChunk(offset, lines)


def store_chunk(
    context: ServerContext, project: str, run_name: str, client: str, request: StreamRequest
) -> dict[str, Any]:
    """Store a chunk and return the answer: whether the run should stop. Blocks until it is durable.

    `client`: which of several clients of the run in shared mode, "" outside of it. Raises the errors of the
    store, after which the client sends the chunk again.
    """
    with RUN_LOCKS.locked(project, run_name):
        run = open_run(context, TRACKER, project, run_name)
        if request.files or request.complete:
            _ChunkWriter(context, run, client, request).write()
    details = context.run_details.details(run.id)
    return {"exitcode": None, "limits": {}, "stopped": details.stop_pending}


class _ChunkWriter:
    """Stores one chunk.

    The state is written before the points: a chunk that is sent again after a failure in between is
    assigned to the same attempt, where the store recognises points that it has.
    """

    def __init__(self, context: ServerContext, run: TrackedRun, client: str, request: StreamRequest) -> None:
        self._context, self._run, self._client, self._request = context, run, client, request
        self._state, self._attributes = read_state(context, run)
        self._config_text = self._attributes.get(CONFIG_ATTRIBUTE, "")
        self._config = read_config(self._config_text)
        self._writer = f"{TRACKER}:{client}" if client else TRACKER

    def write(self) -> None:
        """Store the rows, then what describes the run."""
        history, history_chunk = self._parsed(HISTORY)
        events, events_chunk = self._parsed(EVENTS)
        self._wait_for_definitions(history)
        launch = self._launch(history, history_chunk, events, events_chunk)
        stream = self._stream(launch)
        before = stream.step_before(history_chunk.offset)
        continues = 0 < stream.history == history_chunk.offset
        training_step = TrainingStep(
            training_step_of(self._config), before, counted=continues and before is None
        )
        rows = list(history_rows(history.rows, training_step, str(launch.attempt)))
        system = self._system_rows(events.rows, rows, launch, stream)
        self._advance(
            stream, launch, history, history_chunk, events, events_chunk, before, training_step.latest, rows
        )
        output = self._output_batches(stream, launch)
        is_new_config = self._state_config(launch)
        write_state(self._context, self._run, self._state, output.attributes)
        self._store(rows, launch, "history", history_chunk.offset)
        self._store(system, launch, "events", events_chunk.offset)
        for number, batch in enumerate(output.batches):
            self._accept(batch, f"{launch.attempt}/output/{output.offset}/{number}")
        if is_new_config:
            config = launch_config(self._config)
            self._context.store.accept(
                empty_delivery(
                    TRACKER, self._run.project, self._run.name, attempt=launch.attempt, config=config
                )
            )
        self._describe(launch)
        self._note(history, events)

    def _wait_for_definitions(self, history: HistoryLines) -> None:
        """Raise DefinitionsPendingError for the first rows while a step metric may still be defined.

        Clients send rows at once, and definitions some seconds later.
        """
        state, now = self._state, self._context.clock()
        if not history.rows or state.updates > 1 or self._request.complete or training_step_of(self._config):
            return
        names = {name for row in history.rows for name in row.values}
        if names & set(FRAMEWORK_STEPS) or not any(map(is_step_name, names)):
            return
        if state.waits_since is None or now - state.waits_since > 10 * _DEFINITION_SECONDS:
            state.waits_since = now
            write_state(self._context, self._run, state)
        if now - state.waits_since < _DEFINITION_SECONDS:
            raise DefinitionsPendingError

    def _parsed(self, name: str) -> tuple[HistoryLines, FileChunk]:
        chunk = self._request.files.get(name, FileChunk())
        return parse_lines(chunk.lines, chunk.offset), chunk

    def _launch(
        self, history: HistoryLines, history_chunk: FileChunk, events: HistoryLines, events_chunk: FileChunk
    ) -> StreamLaunch:
        """The launch of the rows; the newest one where there are none."""
        known = self._state.streams.get(self._client)
        if history.rows:
            expected = None if known is None else known.history
            first = FirstLine(history_chunk.offset, expected, history.rows[0].time)
        elif events.rows:
            expected = None if known is None else known.events
            first = FirstLine(events_chunk.offset, expected, events.rows[0].time)
        elif self._state.launches and not self._state.resuming:
            own = None if known is None else self._state.launch(known.attempt)
            return own or self._state.launches[-1]
        else:  # output before the first row
            first = FirstLine(0, None, nan)
        launch = choose_launch(
            self._state, self._client, first, shared=bool(self._client), next_attempt=self._next_attempt
        )
        if self._state.launch(launch.attempt) is None:
            self._state.launches.append(launch)
            self._begin_launch(launch)
        return launch

    def _next_attempt(self) -> int:
        """A new attempt's number: the first one of a run without any."""
        stored = [attempt.number for attempt in self._context.store.attempts(self._run.id)]
        known = [launch.attempt for launch in self._state.launches]
        return max([*stored, *known], default=-1) + 1

    def _begin_launch(self, launch: StreamLaunch) -> None:
        """A new launch: what was asked of the one before is over."""
        self._state.resuming = self._state.resume_asked = False
        if self._context.run_details.details(self._run.id).stop_requested_at is not None:
            self._context.run_details.withdraw_stop(self._run.id)

    def _stream(self, launch: StreamLaunch) -> ClientStream:
        """The client's progress, which begins again with another launch."""
        stream = self._state.streams.get(self._client)
        if stream is None or stream.attempt != launch.attempt:
            times = {} if stream is None else stream.event_times
            stream = ClientStream(launch.attempt, event_times=times)
            self._state.streams[self._client] = stream
            while len(self._state.streams) > _MAX_CLIENTS:
                del self._state.streams[next(iter(self._state.streams))]
        return stream

    def _system_rows(
        self, events: Sequence[HistoryRow], rows: Sequence[LogRow], launch: StreamLaunch, stream: ClientStream
    ) -> list[LogRow]:
        """System metrics that are not stored yet, at the training step before each of them."""
        attempt = str(launch.attempt)
        latest = stream.event_times.get(attempt, float("-inf"))
        step, position = int(self._state.tail.get("step", 0)), 0
        result = []
        for event in events:
            while position < len(rows) and rows[position].time <= event.time:
                step, position = rows[position].step, position + 1
            if event.time > latest and event.values:
                result.append(LogRow(step, event.time, event.values, attempt=attempt))
                latest = event.time
        if latest > float("-inf"):
            stream.event_times[attempt] = latest
        return result

    def _advance(
        self,
        stream: ClientStream,
        launch: StreamLaunch,
        history: HistoryLines,
        history_chunk: FileChunk,
        events: HistoryLines,
        events_chunk: FileChunk,
        step_before: int | None,
        step: int | None,
        rows: Sequence[LogRow],
    ) -> None:
        """Record how far the files have come."""
        if history_chunk.lines:
            stream.chunk, stream.chunk_step = history_chunk.offset, step_before
            stream.history, stream.step = history_chunk.offset + len(history_chunk.lines), step
        if events_chunk.lines:
            stream.events = events_chunk.offset + len(events_chunk.lines)
        for row in (*history.rows, *events.rows):
            if not isnan(row.time):
                launch.start = row.time if isnan(launch.start) else min(launch.start, row.time)
                launch.last = row.time if isnan(launch.last) else max(launch.last, row.time)
        self._advance_tail(history.rows, rows)
        if self._request.complete:
            stream.complete = True
            own = [one for one in self._state.streams.values() if one.attempt == launch.attempt]
            launch.complete = all(one.complete for one in own)
            self._state.updates, self._state.waits_since = 0, None
        elif history_chunk.lines:
            stream.complete = launch.complete = False

    def _advance_tail(self, history: Sequence[HistoryRow], rows: Sequence[LogRow]) -> None:
        newest = self._state.tail.get("_timestamp", float("-inf"))
        if history and not history[-1].time < newest:
            last = history[-1]
            tail = {"_step": last.step, "_runtime": last.runtime, "_timestamp": last.time}
            tail = {name: value for name, value in tail.items() if not isnan(value)}
            step = rows[-1].step if rows else self._state.tail.get("step", last.step)
            self._state.tail = self._state.tail | tail | {"step": step}

    def _output_batches(self, stream: ClientStream, launch: StreamLaunch) -> OutputRecords:
        chunk = self._request.files.get(OUTPUT, FileChunk())
        skipped = max(0, stream.output - chunk.offset)
        stream.output = max(stream.output, chunk.offset + len(chunk.lines))
        return read_output(
            chunk.lines[skipped:], chunk.offset + skipped, self._attributes, str(launch.attempt)
        )

    def _state_config(self, launch: StreamLaunch) -> bool:
        """Whether the configuration has not been stored with this launch, which is the newest one."""
        if not self._config_text or launch is not self._state.launches[-1]:
            return False
        recognised = digest(self._config_text)
        if self._state.stated.get(str(launch.attempt)) == recognised:
            return False
        self._state.stated[str(launch.attempt)] = recognised
        return True

    def _store(self, rows: Sequence[LogRow], launch: StreamLaunch, file: str, offset: int) -> None:
        for start in range(0, len(rows), _ROWS_OF_A_BATCH):
            batch = batch_from_rows(rows[start : start + _ROWS_OF_A_BATCH])
            self._accept(batch, f"{launch.attempt}/{file}/{offset}/{start}")

    def _accept(self, batch: Batch, position: str) -> None:
        """Store a batch. Its id depends on its content: other lines at its position are another batch."""
        content = blake2b(batch.steps.tobytes() + batch.times.tobytes(), digest_size=8)
        for column in batch.columns:
            content.update(str(column.key).encode() + column.values.tobytes())
        self._context.store.accept(
            Delivery(
                project=self._run.project,
                run=self._run.name,
                writer=self._writer,
                batch_id=f"{self._client}/{position}/{content.hexdigest()}",
                batch=batch,
            ),
            timeout=_STORE_SECONDS,
        )

    def _describe(self, launch: StreamLaunch) -> None:
        """Store summary and end of the run in its details, unless the chunk is of an earlier launch."""
        if launch is not self._state.launches[-1]:
            return
        context, request, changes = self._context, self._request, dict[str, Any]()
        summary = request.files.get(SUMMARY, FileChunk()).lines
        if summary and isinstance(summary[-1], str) and len(summary[-1]) <= MAX_SUMMARY_BYTES:
            changes["summary"] = storable_text(summary[-1])
        if request.preempting:
            changes["reported_state"] = "preempting"
        if request.complete:
            failed = request.exit_code not in (0, None)
            changes |= {"reported_state": "failed" if failed else "finished", "exit_code": request.exit_code}
            if context.run_details.details(self._run.id).stop_pending:
                changes |= {"stopped_at": context.clock(), "reported_state": "stopped"}
        context.run_details.update(self._run.id, **changes)
        if launch.complete:
            context.store.accept(
                empty_delivery(
                    TRACKER, self._run.project, self._run.name, attempt=launch.attempt, finished=True
                )
            )
            context.analysis.request_analysis(self._run.id)
            context.live.publish(run_event(self._run.public_id))

    def _note(self, *parsed: HistoryLines) -> None:
        for one in parsed:
            if one.media:
                kinds = ", ".join(sorted(set(one.media.values())))
                reason = f"Holter stores numbers; media are discarded (in this run: {kinds})"
                add_note(self._context, self._run, "media", reason)
            for line, reason in one.problems[:20]:
                add_note(self._context, self._run, f"line {line}", reason)
