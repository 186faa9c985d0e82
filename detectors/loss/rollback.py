"""Where to go back to when a loss does not come back by itself, and which batches to leave out.

What large runs did: restart about a hundred steps before the spike and skip some hundred batches (PaLM,
GLM-130B, K2). A drift began at some time before it could be seen, so the margin grows with that.
"""

from __future__ import annotations

from dataclasses import dataclass

from holter.types import Kind

_MARGIN_STEPS, _MARGIN_POINTS = 100, 4
_SKIPPED_STEPS = 200
_CALLS_FOR_IT = frozenset({Kind.SPIKE_SLOW, Kind.SPIKE_UNRECOVERED, Kind.DIVERGENCE})


@dataclass(frozen=True, kw_only=True)
class Rollback:
    """A checkpoint of step `upto` or before is sound; batches from `skip_from` to `skip_until` are suspect,
    of a drift none (None): there the batches are not the cause."""

    upto: int
    skip_from: int | None
    skip_until: int | None


def rollback_for(
    kind: Kind, *, start_step: int, peak_step: int, seen_step: int, spacing: int
) -> Rollback | None:
    """The rollback for an event, None for kinds that ask for none; `spacing` is the log's, in steps."""
    if kind not in _CALLS_FOR_IT:
        return None
    margin = max(_MARGIN_STEPS, _MARGIN_POINTS * spacing)
    if kind is Kind.DIVERGENCE:
        upto = start_step - max(margin, (seen_step - start_step) // 2)
        return Rollback(upto=max(upto, 0), skip_from=None, skip_until=None)
    # a row of the log may stand for all the steps since the row before
    first = max(start_step - spacing + 1, 0)
    until = max(min(peak_step, start_step + 2 * _SKIPPED_STEPS), start_step + _SKIPPED_STEPS)
    return Rollback(upto=max(start_step - margin, 0), skip_from=first, skip_until=until)
