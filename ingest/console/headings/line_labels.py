"""The labels of the values of a line: the training of several, and what it, or its epoch, is about.

`Epoch 3, dataset: oak, dice: 0.8` states it itself. `Model: oak, epoch: 3` states it for lines below, which
state no other epoch: a program that trains several models in turn, or several that print into one text, head
the results of each epoch so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from holter.ingest.console.headings.subjects_above import OF_ALL
from holter.ingest.console.headings.training_sections import end_run_of_batches, section_labels
from holter.ingest.console.line.line_counters import Counter
from holter.ingest.console.line.line_shapes import LineShape
from holter.ingest.console.line.line_words import REPEATED_TRAININGS, WRITERS
from holter.ingest.console.steps.step_without_epoch import forget_passes
from holter.types import Labels, labels_of

_PARTS = frozenset({"category", "class", "client", "player"})
"""What is always one of several."""
_RUN = "run"
_ABOVE, _BEHIND_FIRST = "row above", "behind first row"
_MOST_NAMES = 64
"""Names of results behind the first of several trainings."""
_TRAINED_IN_TURN = "task"
"""What a program learns one after another, and evaluates again behind each."""
_WITH_RESULTS = REPEATED_TRAININGS | {_TRAINED_IN_TURN, "domain", "model", "seed", "session"}
"""What has results behind its last epoch that state nothing of it."""
_OF_WRITERS = frozenset({"logger", "run", "training"})
"""What a heading of an epoch begins with where it names who prints, as any line may."""


def labels_of_line(shape: LineShape, numbers: list[str], axis: dict[str, Any]) -> Labels | None:
    """The labels of the values of a line: the training of several, and what the line states it is about."""
    names = (field.name for field in shape.metrics)
    if shape.row is not None and shape.row.name == _RUN:
        end_run_of_batches(axis)
    labels = dict(section_labels(axis, names, of_all=shape.is_of_all) or ())
    about = shape.about
    if about is None and "epoch about" in axis:
        word, name = axis["epoch about"]
        about = None if word in labels else (word, name)
    if about is not None:
        word, name = about
        # the first one has no label, as it may be the only one, unless it has a number
        if name != axis.setdefault("about", {}).setdefault(word, name) or word in _PARTS or name.isdecimal():
            labels[word] = name
    if shape.row is not None and numbers[shape.row.index].isdecimal():
        word, number = shape.row.name, str(int(numbers[shape.row.index]))
        if word == _TRAINED_IN_TURN and labels.get(word, number) != number:
            labels["training"] = f"{word} {labels[word]}"  # behind it, what was learnt before is tested again
        # one alone may be the only one
        if word not in WRITERS or number != axis.setdefault("about", {}).setdefault(word, number):
            labels[word] = number
    return labels_of(labels) if labels else None


def note_training(shape: LineShape, numbers: list[str], axis: dict[str, Any]) -> None:
    """Note of which of several trainings a line is: the steps of another one begin anew."""
    if shape.row is not None and shape.row.name in _WITH_RESULTS and numbers[shape.row.index].isdecimal():
        axis[_ABOVE] = [shape.row.name, str(int(numbers[shape.row.index]))]
        axis.setdefault(_BEHIND_FIRST, [axis[_ABOVE], []])
    else:
        axis.pop(_ABOVE, None)
    if shape.row is not None:
        training = [shape.row.name, numbers[shape.row.index]]
    elif shape.about is not None:
        training = [*shape.about]
    else:
        return
    if training[0] not in REPEATED_TRAININGS:
        return
    if axis.get("row", training) != training:
        forget_passes(axis)
    axis["row"] = training


def row_labels(names: Iterable[str], axis: dict[str, Any]) -> dict[str, str]:
    """The label of results that state none, below lines that state of which of several trainings they are.

    `Fold 2 | Epoch 9 | loss 0.5` above `Best accuracy: 0.8`. What is not behind the first of these trainings
    is of all: the mean behind the last one, or behind the lines of all at an epoch.
    """
    if (above := axis.get(_ABOVE)) is None or OF_ALL in axis:
        return {}
    first, known = axis[_BEHIND_FIRST]
    if above == first:
        known += [name for name in names if name not in known][: _MOST_NAMES - len(known)]
    return dict([above]) if all(name in known for name in names) else {}


def is_of_other_writer(shape: LineShape, labels: Labels | None) -> bool:
    """Whether the values of a line are of another thread or worker than the first one, by their labels."""
    return shape.row is not None and shape.row.name in WRITERS and shape.row.name in dict(labels or ())


def note_epoch_about(shape: LineShape, counts: Mapping[Counter, Any], axis: dict[str, Any]) -> None:
    """Note what a line that states an epoch is about: so are lines below that state nothing of it."""
    if Counter.EPOCH not in counts:
        return
    if shape.about is not None and not shape.is_record and shape.about[0] not in _OF_WRITERS:
        axis["epoch about"] = list(shape.about)
        axis["epoch of about"] = counts[Counter.EPOCH][0]
    elif counts[Counter.EPOCH][0] != axis.get("epoch of about"):
        axis.pop("epoch about", None)
