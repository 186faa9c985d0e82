"""The metrics of a line as they are read from left to right, each under a name that no other one has."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from holter.ingest.console.line.line_names import numbered, unique_name
from holter.ingest.console.line.line_settings import is_setting
from holter.ingest.console.line.line_shapes import MetricField
from holter.ingest.console.line.line_subjects import label_of
from holter.ingest.console.line.number_field import NumberField
from holter.ingest.console.line.numbers_behind import name_of_value, sign_of_value
from holter.ingest.metric_names import is_metric_name

_WORD = re.compile(r"\w+")
_LEAST_OF_ROW = 3
_TIME = re.compile(r"(?i)time|elapsed|duration|\bsec|\bmin")


class LineMetrics:
    """The metrics of a line so far, in their order: `fields`."""

    def __init__(self) -> None:
        self.fields: list[MetricField] = []
        self._names: dict[str, None] = {}  # in their order
        self._section = ""
        """What the names of metrics are prefixed with, since an earlier one had the same."""
        self._label = ""
        """What the numbers are of, by the word before those of them that follow: `unet: loss 0.5 acc 0.6`."""
        self._labels: dict[str, str] = {}
        """The same by the names of the metrics so far."""
        self._names_of_lists: dict[int, str] = {}
        """The names of metrics by the indices of their numbers, which may begin a list."""

    def has_name(self, name: str) -> bool:
        """Whether a number before has a name."""
        return name in self._names

    def note_name(self, name: str) -> None:
        """Note the name of a number that is no metric, such as an epoch."""
        self._names[name] = None

    def begins_list(self, index: int) -> bool:
        """Whether the metric at an index has a name that those behind it may share."""
        return index in self._names_of_lists

    def is_last(self, index: int) -> bool:
        """Whether the number at an index is that of the last metric so far."""
        return bool(self.fields) and self.fields[-1].index == index

    def add(self, field: NumberField, stated: str) -> str:
        """Add a number with a stated name; returns the name that it gets."""
        self._label = label_of(field.before, stated) or self._label
        name, self._section = unique_name(self._labelled(stated), self._section, self._names)
        self._names[name] = None
        self._labels[name] = self._label
        self._names_of_lists[field.index] = name
        self.fields.append(MetricField(name, field.index, field.scale))
        return name

    def add_named_ahead(self, field: NumberField, name: str) -> None:
        """Add the number of a metric that is named before what the line counts, and that may begin a list."""
        self._names[name] = None
        self._names_of_lists[field.index] = name
        self.fields.append(MetricField(name, field.index, field.scale))

    def add_behind(self, field: NumberField, around: tuple[str, str], first: int) -> None:
        """Add a number that is of the metric of the first of some numbers; `around` it are these texts."""
        name = numbered(name_of_value(self._names_of_lists[first], *around), self._names)
        self._names[name] = None
        scale = sign_of_value(*around)
        self.fields.append(MetricField(name, field.index, field.scale * scale))

    def add_mean(self, field: NumberField) -> None:
        """Add the mean of the last metric."""
        name = numbered(f"{self.fields[-1].name}/mean", self._names)
        self._names[name] = None
        self.fields.append(MetricField(name, field.index, field.scale))

    def replace_last(self, field: NumberField) -> None:
        """Take a number for the last metric, of which it is the quotient."""
        self.fields[-1] = replace(self.fields[-1], index=field.index, scale=field.scale)

    def measured_before(self, field: NumberField, texts: tuple[str, ...]) -> str:
        """The metric of which a number is the best value, such as `acc` in `acc: 0.8, lr: 0.1, best: 0.9`.

        In brackets, and behind anything else than a rate or a time, that is the one before it. At the end of
        a row of several, `loss=0.2 | mse=0.3 | psnr=9.5 | best=0.2`, it may be that of any.
        """
        is_in_brackets = field.before.rstrip().endswith("(")
        if not is_in_brackets and self._follows_row(field, texts):
            return ""
        for each in reversed(self.fields):
            is_rate = is_setting(each.name) or is_named_as_time(each.name)
            if is_in_brackets or not (is_rate or texts[each.index + 1].startswith(")")):
                return each.name if each is self.fields[-1] or is_metric_name(each.name) else ""
        return ""

    def _follows_row(self, field: NumberField, texts: tuple[str, ...]) -> bool:
        """Whether a number is at the end of a row of metrics with the same signs between all of them."""
        row = self.fields[-_LEAST_OF_ROW:]
        if len(row) < _LEAST_OF_ROW or any(is_setting(each.name) for each in row):
            return False
        signs = _WORD.sub("", texts[field.index])
        return all(_WORD.sub("", texts[each.index]) == signs for each in row[1:])

    def _labelled(self, name: str) -> str:
        """The name of a metric, with what it is of where an earlier one of something else has it.

        So has that one then: `unet metrics: {'dc': 0.35}, ynet metrics: {'dc': 0.34}`.
        """
        label = self._labels.get(name, "")
        if not label or label == self._label:
            return name
        first = f"{label}/{name}"
        self._names = dict.fromkeys(first if each == name else each for each in self._names)
        self.fields = [replace(each, name=first) if each.name == name else each for each in self.fields]
        return f"{self._label}/{name}"


def is_named_as_time(name: str) -> bool:
    """Whether a name is that of a duration or a time, which next to a position is no record."""
    return _TIME.search(name) is not None


def names_of(fields: Iterable[MetricField]) -> list[str]:
    """The names of some metrics."""
    return [field.name for field in fields]
