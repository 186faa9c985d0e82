"""Tells lines that state results from other lines with numbers, by what is before and behind the numbers."""

from __future__ import annotations

import re
from typing import Any

from holter.ingest.console.line.data_names import is_of_evaluation
from holter.ingest.console.line.line_settings import is_setting
from holter.ingest.console.line.line_shapes import LineShape, MetricField
from holter.ingest.console.line.line_words import BEFORE_MESSAGE, DATA_SPLIT
from holter.ingest.console.line.names_of_rows import text_before
from holter.ingest.console.line.number_lists import listed_names, values_of_lists
from holter.ingest.metric_names import is_metric_name

_LEAST_OF_ROW = 2
_LEAST_OF_CELLS = 3
_WITH_ONE_NUMBER = 3
"""Texts and numbers of a line with one number."""
_PAIR = re.compile(r"[\s,;|]*[A-Za-z_][\w./@-]*\s?[:=]\s?")
"""What is before a number in a line of nothing but names and numbers."""
_TUPLE_BEFORE = re.compile(r"\), ?\(['\"][A-Za-z_][\w./@ -]{0,60}['\"], ?")
"""What is between two numbers of a list of tuples."""
_DATA_BEFORE = re.compile(r"\s*\[[A-Za-z][\w-]{1,30}\]:? ")
"""The data in brackets before a result: `[CIFAR10] acc 0.81`."""
_FINAL = re.compile(r"(?i)(?<![a-z])final(?![a-z])")
"""What states that something was measured at the end of a training."""
_SENTENCE_BEFORE = re.compile(r"[^\d\n]{0,80}[A-Za-z)][.!:;,]+ {1,4}")
"""What may be before such a result: `Training complete. Final loss: 0.5`."""
_NEXT_NAME = re.compile(r"%?[\s,;|]{1,4}[A-Za-z][\w@.-]{0,20}\s{1,4}")
"""What is between two numbers of such a line of names and numbers without signs."""

_STAR_BEFORE = re.compile(r"\s{0,8}\* {1,4}[A-Za-z]")
"""What the result of an evaluation may begin with: ` * ADE 1.2 FDE 2.4`."""


def is_starred(parts: list[str]) -> bool:
    """Whether a line begins with a star and a name, as the means of an evaluation do."""
    return _STAR_BEFORE.match(parts[0]) is not None


def is_row_of_cells(parts: list[str], shape: LineShape) -> bool:
    """Whether a line is a row of named cells, with a known metric in it: `episodes 57 | rew 7.6 | len 9`."""
    is_divided = all("|" in text for text in parts[2:-1:2])
    return (
        len(parts) > 2 * _LEAST_OF_CELLS
        and is_divided
        and any(is_metric_name(field.name) for field in shape.metrics)
    )


_SIGNS_OF_PARTS = (",", ";", "|")


def is_run_of_names(parts: list[str]) -> bool:
    """Whether nothing but names of a word is between the numbers of a line: `Dev: P 0.81 R 0.71 F1 0.76`.

    Some of them may have a sign: `Loss: 1.5 rate_a:0.1 rate_b 0.2`.
    """
    return (
        len(parts) > 2 * _LEAST_OF_ROW
        and parts[-1].strip() in ("", "%")
        and all((_NEXT_NAME.fullmatch(text) or _PAIR.fullmatch(text)) is not None for text in parts[2:-1:2])
    )


def is_between_metrics(parts: list[str], shape: LineShape, at: int) -> bool:
    """Whether a part of a line is between known metrics, parted by the same sign: `acc 0.2, len 3.5, loss 1`.

    `at`: its place among the metrics of the line.
    """
    if not 0 < at < len(shape.metrics) - 1:
        return False
    before, field, behind = shape.metrics[at - 1 : at + 2]
    sign, text = parts[2 * field.index][:1], parts[2 * behind.index]
    is_part = sign in _SIGNS_OF_PARTS and text.startswith(sign) and parts[2 * before.index].startswith(sign)
    is_next = behind.index - field.index == field.index - before.index == 1
    is_alone = is_next and is_part and "." in parts[2 * field.index + 1] and not is_setting(field.name)
    return is_alone and is_metric_name(before.name) and is_metric_name(behind.name)


def is_report(shape: LineShape) -> bool:
    """Whether a line that counts nothing has several metrics: `recall@5 : 0.04    recall@10 : 0.07`."""
    return sum(is_metric_name(field.name) for field in shape.metrics) > 1


def is_result(parts: list[str], shape: LineShape, axis: dict[str, Any]) -> bool:
    """Whether a line begins with a metric of an evaluation: `Accuracy: 0.91`, no setting.

    A loss is one if it is named so and the lines of steps have others: `val_loss: 21.2` may be a sum of it.
    So is that of the end of the training: `Final loss: 0.31`, `Loss for final step: 0.31`.
    """
    first = next(iter(shape.metrics), None)
    if first is None or not is_metric_name(first.name) or is_setting(first.name):
        return False
    names = axis.get("names", ())
    is_own = is_of_evaluation(first.name) and bool(names) and first.name not in names
    is_named_final = _FINAL.search(first.name) is not None
    is_own |= is_named_final
    if "loss" in first.name.lower() and not is_own:
        return False
    before = text_before(parts, first)
    if is_named_final and _SENTENCE_BEFORE.fullmatch(before) is not None:
        return True
    return BEFORE_MESSAGE.fullmatch(before) is not None or _DATA_BEFORE.fullmatch(before) is not None


def is_final(parts: list[str], shape: LineShape) -> bool:
    """Whether a line states before its first value that it is of the end of a training: `Final result: `."""
    return bool(shape.metrics) and _FINAL.search("".join(parts[: 2 * shape.metrics[0].index + 1])) is not None


def is_named_number(parts: list[str], shape: LineShape) -> bool:
    """Whether a line has nothing but a number that counts nothing, with a name: `Time per epoch: 3.2`."""
    return len(parts) == _WITH_ONE_NUMBER and bool(shape.metrics) and not shape.counters


def has_pairs_alone(parts: list[str]) -> bool:
    """Whether a line is nothing but several names with a number each: `all:269.5  small:133.5 lr:0.003`.

    So are tuples of a list: `[('average_q', 1.4), ('average_loss', 0.9)]`.
    """
    if len(parts) > 2 * _LEAST_OF_ROW and all(map(_TUPLE_BEFORE.fullmatch, parts[2:-1:2])):
        return True
    return (
        len(parts) > 2 * _LEAST_OF_ROW and not parts[-1].strip() and all(map(_PAIR.fullmatch, parts[:-1:2]))
    )


def is_named_as_measured(field: MetricField) -> bool:
    """Whether the name of a number is that of a metric, or of nothing but the data: `Train: 0.98`, a loss."""
    return is_metric_name(field.name) or DATA_SPLIT.fullmatch(field.name) is not None


def is_one_of_several(parts: list[str], index: int) -> bool:
    """Whether a number without a sign or a name of its own is followed by another: `Prec@1  05 87.9`."""
    before, behind = parts[2 * index : 2 * index + 3 : 2]
    if behind.strip(" ") or 2 * index + 3 >= len(parts) or before.rstrip(" ")[-1:] in (":", "="):
        return False
    texts = tuple(parts[::2])
    return index not in listed_names(texts) and index + 1 not in values_of_lists(texts)


def is_unknown_spread(parts: list[str], index: int) -> bool:
    """Whether a number is none where a mean is in brackets with how far its values vary: `acc (0.8, nan)`.

    That is so of a single value.
    """
    if not index or parts[2 * index + 1].lower() != "nan":
        return False
    before, between, behind = parts[2 * index - 2 : 2 * index + 3 : 2]
    return before.endswith(" (") and between.strip() == "," and behind.startswith(")")


def _is_one_of_pairs(parts: list[str], index: int) -> bool:
    """Whether a number begins one of several pairs in brackets: `acc (0.8, 0.1) gain (0.2, 0.1)`."""
    before, between = parts[2 * index : 2 * index + 3 : 2]
    pairs = [text for text in parts[max(2 * index - 4, 0) : 2 * index + 5 : 4] if text.endswith(" (")]
    return before.endswith(" (") and between.strip() == "," and len(pairs) > 1


def is_marked_as_measured(parts: list[str], index: int) -> bool:
    """Whether a number next to known metrics is one, too: `acc=0.81 prec=0.79`, `WER 9.1% del 3.4%`."""
    before = parts[2 * index]
    if _is_one_of_pairs(parts, index):
        return "." in parts[2 * index + 1]
    is_marked = before.rstrip(" ")[-1:] in (":", "=", "\t") or before.endswith(
        ("', ", '", ')
    )  # `('acc', 0.7)`
    is_percent = parts[2 * index + 2].startswith("%")
    return is_marked + is_percent + ("." in parts[2 * index + 1]) > 1
