"""Which launch of a run its rows belong to. Each launch of a script is an attempt.

Clients say nothing of a launch but the time at which it began, in the configuration that they send with its
first row.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from math import isnan

import msgspec

from holter.server.context import ServerContext
from holter.server.tracked_runs import TrackedRun

STATE = "trackio.state"
"""The attribute of a run that has the state of its launches as JSON."""


@dataclass(slots=True)
class TrackioLaunch:
    """One launch: its attempt, and when it began in Unix seconds by the client's clock (None: unknown).

    `logged`: rows of `trackio.log` have arrived. `step`: the newest training step where a metric states it.
    """

    attempt: int
    created: float | None = None
    logged: bool = False
    step: int | None = None


@dataclass(slots=True)
class LaunchState:
    """The launches of a run in the order of their arrival."""

    launches: list[TrackioLaunch] = field(default_factory=list)

    def begin(self, created: float | None, first_attempt: int) -> TrackioLaunch:
        """The launch that began at a time, a new one where there is none; without a time, the newest one.

        `first_attempt`: the attempt of the run's first launch.
        """
        newest = self.launches[-1] if self.launches else None
        if newest is not None and newest.created is None and not newest.logged:
            newest.created = created  # its system metrics came before its first row
        if newest is not None and created is None:
            return newest
        if known := next((launch for launch in self.launches if launch.created == created), None):
            return known
        self.launches.append(TrackioLaunch(first_attempt if newest is None else newest.attempt + 1, created))
        return self.launches[-1]

    def launch_at(self, time: float, first_attempt: int) -> TrackioLaunch:
        """The launch of a row with a time in Unix seconds; the newest launch for a row without (NaN)."""
        if not self.launches:
            return self.begin(None, first_attempt)
        begun = self.launches if isnan(time) else [each for each in self.launches if _begun(each, time)]
        return begun[-1] if begun else self.launches[0]

    def to_json(self) -> str:
        """The state as JSON text."""
        return msgspec.json.encode([asdict(launch) for launch in self.launches]).decode()

    @classmethod
    def from_json(cls, text: str | None) -> LaunchState:
        """The state from the text that `to_json` returned; an empty one for None."""
        return cls([TrackioLaunch(**each) for each in msgspec.json.decode(text)] if text else [])


def _begun(launch: TrackioLaunch, time: float) -> bool:
    return launch.created is None or launch.created <= time


def read_state(context: ServerContext, run: TrackedRun) -> LaunchState:
    """The launches of a run."""
    return LaunchState.from_json(context.run_details.attributes(run.id, STATE).get(STATE))


def write_state(context: ServerContext, run: TrackedRun, state: LaunchState) -> None:
    """Store the launches of a run."""
    context.run_details.set_attributes(run.id, {STATE: state.to_json()})


def first_attempt(context: ServerContext, run: TrackedRun) -> int:
    """The attempt of the first launch: behind all that the run has otherwise."""
    return max((attempt.number for attempt in context.store.attempts(run.id)), default=-1) + 1
