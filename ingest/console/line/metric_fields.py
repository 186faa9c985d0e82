"""Whether a number with a name is a metric: by its name, and by the text around it."""

from __future__ import annotations

import re

from holter.ingest.console.line.line_words import (
    BATCHES,
    CALENDAR,
    DURATIONS,
    EPOCHS,
    LONE_UNITS,
    NOT_METRICS,
    STEPS,
    STOP_WORDS,
)
from holter.ingest.console.line.number_field import NumberField
from holter.ingest.metric_names import is_metric_name

_SLASHES_OF_PATH = 5
_MEANS = frozenset({"average", "avg", "mean", "median"})
"""Words before what is counted that state that it was counted several times."""
_SOURCE_FILE = re.compile(r"\.(?:py|cc|cpp|cu|cuh|c|h|go|rs|java|js|lua|m)$")
_TIME_LEFT = re.compile(r"剩余|剩餘|残り|남은|осталось|restant")
"""Words in other languages for how long the rest takes, as `ETA` says in English."""
_SOURCE_SUFFIXES = frozenset({"py", "cc", "cpp", "cu", "h"})


def is_metric(field: NumberField) -> bool:
    """Whether a number is a metric, known or not; none of a setting, a path, a date or a count."""
    name = field.name
    lower = field.english.lower().replace("_", " ")
    if (
        not lower.strip()
        or (lower in STOP_WORDS and not name.isupper())  # `best reward 200 in #3`, not `IS 2.3`
        or (name in LONE_UNITS and not _names_itself(field))
        or name[-1] in "/-"  # a part of a path
        or name.count("/") >= _SLASHES_OF_PATH
        or lower.rpartition("/")[2] in NOT_METRICS
        or name.rpartition(" ")[2] in CALENDAR
        or (name in _SOURCE_SUFFIXES and field.index and not field.before.strip("."))  # `123.py:45`
        or (field.total_index >= 0 and not _may_have_total(field))
        or _SOURCE_FILE.search(name)
        or _TIME_LEFT.search(name)
    ):
        return False
    last = lower.split()[-1]
    stem, _, end = name.rpartition("_")
    if stem and (end in LONE_UNITS or is_metric_name(stem)):  # `RSS_MB`, no minibatch; `train_loss_epoch`
        return True
    counts = (last in STEPS and lower != "steps") or last in EPOCHS or last in BATCHES
    if counts and not (_is_duration(lower) or is_mean_of_counts(lower)):
        return False  # `warm-up steps: 100`
    return field.marked or field.clean or is_metric_name(name) or name[:1].isupper()


def _names_itself(field: NumberField) -> bool:
    """Whether a letter that is a unit is a name: `(R:116.3 M:0.80)`."""
    return (field.marked and field.name.isupper()) or (field.clean and bool(field.before.strip()))


def _may_have_total(field: NumberField) -> bool:
    """Whether a number with a total is a metric: by its name and a sign, or how many of all were right."""
    last = field.name.lower().rpartition(" ")[2]
    is_share = last in ("acc", "accuracy", "correct")  # `valid acc 9/16`
    return (field.marked or is_share) and (last == "correct" or is_metric_name(field.name))


def is_mean_of_counts(name: str) -> bool:
    """Whether a name is that of how many steps or the like several episodes took: `average steps`."""
    first, *others = name.split()
    return first.rstrip(".") in _MEANS and others[-1:] != [] and others[-1].endswith("s")


def _is_duration(name: str) -> bool:
    """Whether a name that ends with what is counted is of how long it took: `time_epoch`, no `time step`."""
    words = name.split()
    return not DURATIONS.isdisjoint(words[:-1]) and words[-2:] not in (["time", "step"], ["time", "steps"])


def is_of_ratio(field: NumberField, ratio: NumberField, texts: tuple[str, ...]) -> bool:
    """Whether a number is the quotient of the two before it: `Accuracy: 9821/10000 (98.2%)`, `= 0.982`."""
    is_next = not field.name and field.index == ratio.total_index + 1
    return is_next and texts[field.index].strip() in ("=", "(", ": (", "correct (", "->", "→")


def has_share(total_index: int, texts: tuple[str, ...]) -> bool:
    """Whether a per cent in parentheses follows what is counted and its total."""
    behind = texts[total_index + 1 : total_index + 3] if total_index >= 0 else ()
    return len(behind) > 1 and behind[0].strip() == "(" and behind[1].startswith("%)")


def is_counted_share(field: NumberField, texts: tuple[str, ...]) -> bool:
    """Whether a number is how many of all were so, whose share is behind it: `solved: 24/32 (75%)`."""
    is_named = bool(field.name) and (field.marked or field.clean)
    return is_named and has_share(field.total_index, texts)
