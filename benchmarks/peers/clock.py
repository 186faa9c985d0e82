"""The clock of the simulated training, for trackers that read the clock themselves at each call."""

from __future__ import annotations

from datetime import UTC, datetime


class SimulatedClock:
    """A clock that shows `seconds` since 1970, which whoever replays a run sets before each step.

    It replaces the function that a client calls, since a replay takes milliseconds where a training takes
    hours: without it, the wall times of rows would be microseconds apart, and compress unlike real ones.
    """

    def __init__(self) -> None:
        self.seconds = 0.0

    def time(self) -> float:
        """Like time.time."""
        return self.seconds

    def now(self, zone: object = None) -> datetime:
        """Like datetime.datetime.now, in UTC whatever the zone."""
        return datetime.fromtimestamp(self.seconds, UTC)


def iso_times(times: list[float]) -> list[str]:
    """Wall times as ISO 8601 in UTC."""
    return [datetime.fromtimestamp(seconds, UTC).isoformat() for seconds in times]
