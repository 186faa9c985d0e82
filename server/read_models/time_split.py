"""A run's time by use, as its page shows it: up to now while stalled, without work on a broken loss."""

from __future__ import annotations

from holter.attempts.goodput import Goodput, TimeUse
from holter.server.schemas.runs import TimeSplit, TimeUseShare


def split_time(goodput: Goodput, *, stalled_since: float | None, now: float, nonfinite: float) -> TimeSplit:
    """The seconds of each use, and their shares in all of them.

    `stalled_since`: the time of the newest point (Unix seconds) of a run that stands still at `now`, whose
    silence is a stall, too. `nonfinite`: seconds since the loss is NaN or infinite: no progress, whatever the
    speed.
    """
    seconds = {use: goodput.seconds(use) for use in TimeUse}
    if stalled_since is not None:
        seconds[TimeUse.STALLED] += max(0.0, now - stalled_since)
    lost = 0.0
    for use in (TimeUse.FORWARD, TimeUse.SLOW):
        moved = min(seconds[use], max(0.0, nonfinite - lost))
        seconds[use] -= moved
        lost += moved
    total = sum(seconds.values()) + lost

    def of(value: float) -> TimeUseShare:
        return {"seconds": value, "share": value / total}

    return {
        "forward": of(seconds[TimeUse.FORWARD]),
        "slow": of(seconds[TimeUse.SLOW]),
        "superseded": of(seconds[TimeUse.SUPERSEDED]),
        "restarts": of(seconds[TimeUse.RESTARTS]),
        "stalled": of(seconds[TimeUse.STALLED]),
        "nonfinite": of(lost),
    }
