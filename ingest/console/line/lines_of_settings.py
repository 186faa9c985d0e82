"""Recognises lines of settings by all of their numbers: what these count, measure and state."""

from __future__ import annotations

import re
from collections.abc import Sequence

from holter.ingest.console.line.line_counters import Counter, CounterField
from holter.ingest.console.line.line_metrics import names_of
from holter.ingest.console.line.line_settings import are_settings_of, is_of_model, is_setting, is_settings
from holter.ingest.console.line.line_shapes import MetricField
from holter.ingest.metric_names import is_metric_name

_AMOUNT_AHEAD = re.compile(r"(?i) (?:epochs|steps|iterations|iters)\b")
"""What is behind an amount of what is counted."""


def is_line_of_settings(
    texts: tuple[str, ...], counters: Sequence[CounterField], metrics: Sequence[MetricField], *, amounts: int
) -> bool:
    """Whether a line states settings, by the texts around its numbers and what these are.

    `amounts` are numbers of epochs or steps in all: `Epochs: 25, Iters: 4675` are two.
    """
    names = names_of(metrics)
    first = next((fields[0].index for fields in (metrics, counters) if fields), 0)
    if amounts > 1 or is_settings(texts, first + 1, names, is_amount=amounts > 0):
        return True
    if _begins_with_number(texts, counters) and are_settings_of(texts, names):
        return True
    if metrics and _begins_with_amount(texts, counters) and all(map(is_of_model, names)):
        return True  # `50 epochs | patience=20`
    # `train=5120, batch=64, epochs=12`
    return amounts > 0 and begins_with_size(counters) and not measures_more_than_rates(names)


def _begins_with_number(texts: tuple[str, ...], counters: Sequence[CounterField]) -> bool:
    """Whether a number alone in brackets, without a total, is all that looks like a count."""
    is_first = [(each.index, each.total_index) for each in counters] == [(0, -1)]
    return is_first and texts[0].strip() == "[" and texts[1].startswith("]")


def _begins_with_amount(texts: tuple[str, ...], counters: Sequence[CounterField]) -> bool:
    """Whether a number of epochs or steps is the first in a line."""
    return bool(counters) and counters[0].index == 0 and _AMOUNT_AHEAD.match(texts[1]) is not None


def begins_with_size(counters: Sequence[CounterField]) -> bool:
    """Whether a batch without a total looks like the first count, but for samples: it may be its size."""
    first = next((each for each in counters if each.counter is not Counter.OTHER), None)
    return first is not None and first.counter is Counter.BATCH and first.total_index < 0


def measures_more_than_rates(names: Sequence[str]) -> bool:
    """Whether a name is known as that of a metric, and not as that of a setting."""
    return any(is_metric_name(name) and not is_setting(name) for name in names)
