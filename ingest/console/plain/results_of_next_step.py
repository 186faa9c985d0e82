"""Results below an announced epoch, before any step of it: maybe of the step that the record below counts.

Below `Epoch [1/5]`: `accuracy: 0.9`, then `Iter: 0 | Train Loss: 2.1 | Dev Loss: 2.3`. A function for the
evaluation prints its results, and the line of the step is printed behind it. Where that line has values of an
evaluation as well and is right below the results, they belong to it, and so do their like from there on.
Where it is the first batch, `lines_above` decides whether they belong to it. Until the line below them shows
this, the first results of a launch wait, with the headings above them.
"""

from __future__ import annotations

from typing import Any

from holter.ingest.console.dialect import DialectState
from holter.ingest.console.headings.evaluation_headings import heading_data
from holter.ingest.console.line.data_names import is_of_evaluation
from holter.ingest.console.line.line_counters import Counter
from holter.ingest.console.line.line_shapes import LineShape
from holter.ingest.console.plain.initial_results import UNDECIDED, is_first_batch
from holter.ingest.console.plain.kept_lines import (
    KnownLine,
    LineAbove,
    is_measured,
    is_result,
    is_training,
    known_line,
)
from holter.ingest.console.plain.plain_line import counts_of_neighbor
from holter.ingest.console.steps.known_steps import known_axis
from holter.ingest.console.steps.launch_beginnings import begins_with_epoch

_WAITING = "results below epoch"
_MOST_LINES = 64


def has_results_waiting(state: DialectState) -> bool:
    """Whether results wait for the line below them."""
    return _WAITING in state


def may_be_of_next_step(state: DialectState) -> bool:
    """Whether results may come that wait: an epoch is announced, and nothing of it was counted."""
    return _WAITING in state or begins_with_epoch(known_axis(state))


def waits_for_step(line: str, place: LineAbove, state: DialectState) -> bool:
    """Whether a line is one of the results below an announced epoch, which wait for the line below them."""
    if not may_be_of_next_step(state):
        return False
    known = known_line(line)
    if not _may_wait(line, known):
        return False
    state.setdefault(_WAITING, []).append([known.template, place])
    return True


def results_decided(line: str, touching: int, state: DialectState) -> list[LineAbove]:
    """The results that a line shows to be of the epoch above them, so that they are read before it.

    If they are of this line, they wait as lines above a counter do; so many of them are right above it
    (`touching`).
    """
    lines = state[_WAITING]
    known = known_line(line)
    if len(lines) < _MOST_LINES and _may_wait(line, known):
        return []
    del state[_WAITING]
    if not (touching and _has_result(lines[-touching:])):
        return [LineAbove(*each) for _, each in lines]
    if is_first_batch(known):
        initial = [LineAbove(*each)._replace(is_initial=True) for _, each in lines]
        state["above"] = {"lines": lines, UNDECIDED: initial}
        return []
    is_bare = touching == len(lines) and not any(_shape(each).split for each in lines)
    if not (is_bare and _is_step_with_evaluation(known)):
        return [LineAbove(*each) for _, each in lines]
    templates = sorted({template for template, _ in lines})
    state["above"] = {"templates": templates, "lines": lines, "at": None}
    return []


def remaining_results(state: DialectState) -> list[LineAbove]:
    """The results that still wait at the end of a launch."""
    return [LineAbove(*each) for _, each in state.pop(_WAITING, ())]


def waiting_results(state: DialectState) -> list[Any]:
    """The lines that wait, each with the number of its text without numbers."""
    lines: list[Any] = state[_WAITING]
    return lines


def _may_be_result(known: KnownLine) -> bool:
    """Whether a line measures something, other than a loss of the training, and counts nothing."""
    shape = known.shape
    return not (shape.counters or shape.is_settings) and is_measured(shape) and not is_training(shape)


def _may_wait(line: str, known: KnownLine) -> bool:
    """Whether a line is a result, or a heading of results."""
    return _may_be_result(known) or (not known.has_numbers and heading_data(line) is not None)


def _has_result(lines: list[Any]) -> bool:
    return any(is_result(_shape(each)) for each in lines)


def _shape(line: Any) -> LineShape:
    return known_line(LineAbove(*line[1]).message).shape


def _is_step_with_evaluation(known: KnownLine) -> bool:
    """Whether a record counts nothing but its step, and has values of an evaluation among others."""
    if not known.shape.is_record or known.shape.split:
        return False
    counts = counts_of_neighbor(known.shape, known.numbers)
    names = [field.name for field in known.shape.metrics]
    counts_step = bool(counts) and counts.keys() <= {Counter.GLOBAL_STEP, Counter.STEP}
    return counts_step and any(map(is_of_evaluation, names))
