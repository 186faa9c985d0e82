"""Names on a line by themselves, and their numbers on the next one: `G_LOSS:` above `3.07`.

So are several of them, `d_loss: | g_loss:` above `1.33 | 2.92`, and a known metric without a sign. This one
may be below its number in all blocks of a text, which the end of the first one shows.
"""

from __future__ import annotations

import re
from typing import Any

from holter.ingest.console.dialect import DialectState, LineKind, LineResult
from holter.ingest.console.headings.evaluation_headings import announce
from holter.ingest.console.headings.subjects_above import note_heading_of_subject
from holter.ingest.console.plain.metrics_of_epoch import parse_metrics_of_epoch
from holter.ingest.console.search.nested_keys import note_measure
from holter.ingest.console.search.pattern_search import LinearPattern
from holter.ingest.console.steps.known_steps import known_axis
from holter.ingest.metric_names import is_metric_name

_NAME = r"[A-Za-z][\w @/.-]{0,40}[:=][ \t|]{0,20}"
_METRIC = (
    r"(?i:(?:[a-z]\w{0,20}[ _-]){0,3}(?:loss|acc(?:uracy)?|error|reward|return|perplexity|f1|auc|dice"
    r"|m?iou|psnr|ssim|r?mse|mae|mape|bleu|recall|precision)(?:[ _]score)?)"
)
_ONE_NUMBER = (
    r"[ \t]{0,20}(?:tensor\()?[-+]?\d{1,9}(?:\.\d{0,20})?(?:[eE][-+]?\d{1,3})?\)?[ \t]?%?[ \t\r]{0,8}"
)
_NUMBER = r"[-+]?\d{1,9}\.\d{1,20}(?:[eE][-+]?\d{1,3})?"
_NAMES = rf"[ \t]{{0,20}}(?:{_NAME}){{1,8}}\r?"
_NUMBERS = rf"[ \t]{{0,20}}{_NUMBER}(?:[ \t|]{{1,20}}{_NUMBER}){{0,7}}[ \t\r]{{0,8}}"
_SEPARATORS = re.compile(r"[\s|]+")
_SIGNS = re.compile("[:=]")
_AROUND = re.compile(r"tensor\(|\)|%|^\s+|\s+$")
"""What may be around a number below its name, and is none of it."""
_MEASURED = re.compile(_NUMBER)
"""A number that may have its name below it: a whole one may as well be a count."""
_NOTHING = (None, None, False)
"""What is noted of names and of a number: these, the place, and whether they may be of those above them."""
_PLACES = ("heading", "announced", "step")
"""What the state has of the step of the lines below."""


def _note_names(line: str, state: DialectState) -> LineResult:
    """Note names that have no number, if one is that of a metric; else the line may be a heading.

    A single one without a sign may be the name of the number above it.
    """
    names = [name.strip(" \t|") for name in _SIGNS.split(line) if name.strip(" \t|\r")]
    number = _noted("number above", state)
    state.pop("names above", None)
    if not any(map(is_metric_name, names)):
        announce(line, state)
        note_heading_of_subject(line, known_axis(state))
        return None
    if len(names) == 1:
        note_measure(names[0], known_axis(state))
    may_be_below = number is not None and len(names) == 1 and _SIGNS.search(line) is None
    if may_be_below and state.get("names below"):
        return parse_metrics_of_epoch(f"{names[0]}: {number}", state)
    is_undecided = may_be_below and "names below" not in state
    state["names above"] = [names, _place(state), is_undecided]
    return None


def _numbers(line: str, state: DialectState) -> LineResult:
    """The numbers below names, if there are as many of them, and the names are not those of numbers above."""
    numbers = _SEPARATORS.split(_AROUND.sub("", line))
    is_undecided = state.get("names above", _NOTHING)[-1]
    is_decided = "names above" not in state and state.get("number above", _NOTHING)[-1]
    names = _noted("names above", state)
    state.pop("number above", None)
    is_below = names is not None and len(names) == len(numbers)
    if is_undecided and not is_below:
        state["names below"] = True  # no number is below the last name of a block
    elif is_decided:
        state["names below"] = False  # no name is below the last number of a block
    if _MEASURED.fullmatch(numbers[0]) is not None and (is_undecided or not is_below):
        state["number above"] = [numbers[0], _place(state), is_undecided and is_below]
    if names is None or is_undecided or not is_below:
        return None
    named = (f"{name}: {number}" for name, number in zip(names, numbers, strict=True))
    return parse_metrics_of_epoch(" | ".join(named), state)


def _noted(key: str, state: DialectState) -> Any:
    """What was noted of the line above, if that is near and at the same place; else None."""
    noted, at, _ = state.pop(key, _NOTHING)
    return noted if state.get("is near") and at == _place(state) else None


def _place(state: DialectState) -> list[Any]:
    """What the lines above state of the step of those below."""
    axis = known_axis(state)
    return [axis.get(key) for key in _PLACES]


METRICS_ALONE = LineKind(
    pattern=LinearPattern(rf"(?m)^[ \t]{{0,20}}{_METRIC}[ \t]{{0,4}}[:=]?[ \t\r]{{0,8}}$".encode()),
    parse=_note_names,
    any_program=True,
    in_blocks=True,
)
"""Lines of nothing but the name of a known metric, some of which look like headings: `Train loss:`."""

NAMES_ABOVE = (
    LineKind(
        pattern=LinearPattern(rf"(?m)^{_NAMES}$".encode()),
        parse=_note_names,
        any_program=True,
        in_blocks=True,
    ),
    LineKind(
        pattern=LinearPattern(rf"(?m)^(?:{_NUMBERS}|{_ONE_NUMBER})$".encode()),
        parse=_numbers,
        any_program=True,
        in_blocks=True,
    ),
)
BELOW = LinearPattern(
    rb"(?im)^[^\n]{0,80}(?:loss|reward|return|accuracy|fitness)[ \t]{0,4}:[ \t|\r]{0,20}\n"
    rb"[ \t]{0,20}[-+]?\d{1,9}\.\d"
)
"""The name of a known metric, and a number below it."""
