"""Lines of a launch above its first record, where no line has stated a position in it."""

from __future__ import annotations

from holter.ingest.console.dialect import DialectState
from holter.ingest.console.line.data_names import is_of_evaluation
from holter.ingest.console.line.line_shapes import LineShape
from holter.ingest.console.steps.launch_beginnings import is_before_training

_OF_LAUNCH = ("names", "announced", "heading")
"""What is known of a launch once a record was read, or a line has stated a position."""


def is_in_opening(axis: DialectState) -> bool:
    """Whether a launch was shown of which no record was read, and no line has stated a position in it."""
    return is_before_training(axis) and axis.keys().isdisjoint(_OF_LAUNCH)


def is_above_first(axis: DialectState) -> bool:
    """The same, also of the first launch of a text."""
    return axis.keys().isdisjoint(("step", *_OF_LAUNCH)) or is_in_opening(axis)


def has_opening_values(shape: LineShape, evaluating: str, axis: DialectState) -> bool:
    """Whether the values of a line in the opening of a launch are no results of an evaluation.

    They are at no step of the launch before. `evaluating`: the data that a line above has announced.
    """
    is_result = evaluating or shape.split or any(is_of_evaluation(field.name) for field in shape.metrics)
    return not is_result and is_in_opening(axis)
