"""What rollbacks cost a run: steps and seconds spent on work that was thrown away, and what was left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from holter.timeline import Span, superseded
from holter.types import FloatArray, IntArray, Series

STANDSTILL = 20.0
"""A gap of more than this many usual ones of as many steps (and of a minute) is standing still, not work."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Goodput:
    """`lost_seconds` went into superseded steps; `share` is the part of the run's time that advanced it."""

    lost_seconds: float | None
    share: float | None


def lost_from(span: Span, spans: Sequence[Span]) -> tuple[int | None, int]:
    """The first step of an attempt that newer attempts superseded (None: none), and how many they are."""
    newest = max((other.number for other in spans), default=span.number)
    reaches = sorted(
        (
            max(other.first_step, span.first_step),
            span.last_step if other.number == newest else other.last_step,
        )
        for other in spans
        if other.number > span.number and other.first_step <= span.last_step
    )
    lost, reached = 0, span.first_step - 1
    first = None
    for begin, end in reaches:
        begin, end = max(begin, reached + 1), min(end, span.last_step)
        if begin <= end:
            first = begin if first is None else first
            lost += end - begin + 1
            reached = end
    return first, lost


def goodput(series: Series, spans: Sequence[Span]) -> Goodput:
    """How a run's time was spent, by the clock of one of its series (the one logged most)."""
    clocked = np.isfinite(series.time)
    attempt, step, time = series.attempt[clocked], series.step[clocked], series.time[clocked]
    if len(time) < 2 or time.max() <= time.min():
        return Goodput(lost_seconds=None, share=None)
    within = attempt[1:] == attempt[:-1]
    spent = _seconds(time)[within]
    ghost = superseded(attempt, step, spans)[1:][within]
    worked = _without_standstills(spent, np.diff(step)[within])
    total = float(time.max() - time.min())
    return Goodput(
        lost_seconds=float(spent[ghost].sum()), share=min(1.0, float(worked[~ghost].sum()) / total)
    )


def _seconds(time: FloatArray) -> FloatArray:
    return np.maximum(np.diff(time), 0.0)


def _without_standstills(spent: FloatArray, steps: IntArray) -> FloatArray:
    """Seconds [n] of gaps of so many steps [n]; of one that stood still, what its steps usually take.

    By the step, for where points were thinned few of them stand for many steps.
    """
    if not len(spent):
        return spent
    usual = float(np.median(spent / steps)) * steps
    return np.where(spent > np.maximum(60.0, STANDSTILL * usual), usual, spent)
