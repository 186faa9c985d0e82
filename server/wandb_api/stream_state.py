"""What the protocol must remember of one run: its launches, and how far each file has come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from math import inf, isnan, nan
from typing import Any

import msgspec

STATE_ATTRIBUTE = "wandb.state"
"""The run attribute that contains the state as JSON."""


@dataclass(slots=True)
class StreamLaunch:
    """One launch of the script: the number of its attempt, the times of its first and its latest row."""

    attempt: int
    start: float
    last: float
    complete: bool = False


ANY_LINE = -1
"""The next line of a launch of which nothing has arrived in this file: its numbers may begin anywhere."""


@dataclass(slots=True)
class ClientStream:
    """How far the files of one client have come: the next line of each, and the attempt of the lines before.

    `step` is the latest value of the training step's metric; `chunk` and `chunk_step` are the first line of
    the latest chunk of history and the value before it, so that a repeated chunk is understood as before.
    `event_times` has the time of the latest system metrics by attempt.
    """

    attempt: int
    history: int = ANY_LINE
    events: int = ANY_LINE
    output: int = 0
    complete: bool = False
    step: int | None = None
    chunk: int = 0
    chunk_step: int | None = None
    event_times: dict[str, float] = field(default_factory=dict)

    def step_before(self, offset: int) -> int | None:
        """The latest value of the training step's metric before a line of the history."""
        if offset == self.history:
            return self.step
        return self.chunk_step if offset == self.chunk else None


@dataclass(slots=True)
class StreamState:
    """The state of one run. `streams` by client id, "" outside of shared mode.

    `updates` counts the statements of configuration since the latest launch ended; `waits_since` is when rows
    first waited for one. `resume_asked`: a client has asked for the end of the history; `resuming`: it has
    begun to log since.
    `tail` has `_step`, `_runtime` and `_timestamp` of the newest row, and `step`, its training step.
    `stated` has a digest of the configuration that was stored with each attempt.
    """

    launches: list[StreamLaunch] = field(default_factory=list)
    streams: dict[str, ClientStream] = field(default_factory=dict)
    updates: int = 0
    waits_since: float | None = None
    resume_asked: bool = False
    resuming: bool = False
    tail: dict[str, float] = field(default_factory=dict)
    stated: dict[str, str] = field(default_factory=dict)

    def launch(self, attempt: int) -> StreamLaunch | None:
        """The launch with this attempt."""
        return next((launch for launch in self.launches if launch.attempt == attempt), None)

    def to_json(self) -> str:
        """The state as JSON text; an unknown time is null."""
        return msgspec.json.encode(_without_nan(asdict(self))).decode()

    @classmethod
    def from_json(cls, text: str | None) -> StreamState:
        """The state from the text that `to_json` returned; an empty one for None."""
        if not text:
            return cls()
        stored = msgspec.json.decode(text)
        launches = [StreamLaunch(**{**one, **_times(one)}) for one in stored.pop("launches", [])]
        streams = {name: ClientStream(**one) for name, one in stored.pop("streams", {}).items()}
        return cls(launches=launches, streams=streams, **stored)


@dataclass(frozen=True, slots=True)
class FirstLine:
    """The first line of a chunk: its number, the number expected (None: an unknown client), its time."""

    offset: int
    expected: int | None
    time: float

    @property
    def continues(self) -> bool:
        """Whether it follows the latest lines of its file."""
        return self.expected in (self.offset, ANY_LINE)


def choose_launch(
    state: StreamState, client: str, first: FirstLine, *, shared: bool, next_attempt: Callable[[], int]
) -> StreamLaunch:
    """The launch that the lines from `first` on belong to; a new one with `next_attempt` where none fits.

    A client numbers the lines of its files. Lines that continue the latest ones belong to their launch.
    Lines from further back are sent again (then their times lie within a known launch), or come from a
    script that was started again under the same id (then they are newer than everything known).
    """
    stream = state.streams.get(client)
    newest = max(state.launches, key=_begin, default=None)
    if newest is None:
        return StreamLaunch(next_attempt(), first.time, first.time)
    is_later = not first.time <= newest.last  # also where one of them is unknown
    resumes = state.resuming and is_later
    if stream is not None and first.continues and not resumes:
        return state.launch(stream.attempt) or newest
    if not is_later:
        known = [launch for launch in state.launches if launch.start <= first.time]
        if known:
            return max(known, key=_begin)
    joins = stream is None and shared and not newest.complete
    skips_lines = first.expected is not None and first.offset > first.expected
    if not resumes and (joins or skips_lines or isnan(first.time)):
        return newest
    return StreamLaunch(next_attempt(), first.time, first.time)


def _begin(launch: StreamLaunch) -> tuple[float, int]:
    """A launch of which no row is known is newer than others."""
    return (inf if isnan(launch.start) else launch.start), launch.attempt


def _times(stored: dict[str, Any]) -> dict[str, float]:
    return {name: nan if stored[name] is None else stored[name] for name in ("start", "last")}


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nan(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_without_nan(each) for each in value]
    return None if isinstance(value, float) and isnan(value) else value
