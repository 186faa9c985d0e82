"""Names on a line by themselves, and their numbers on the next one: `G_LOSS:` above `3.07`.

So are several of them, `d_loss: | g_loss:` above `1.33 | 2.92`, and a known metric without a sign.
"""

from __future__ import annotations

import re

from holter.ingest.console.dialect import DialectState, LineKind, LineResult
from holter.ingest.console.headings.evaluation_headings import announce
from holter.ingest.console.headings.subjects_above import note_heading_of_subject
from holter.ingest.console.plain.metrics_of_epoch import parse_metrics_of_epoch
from holter.ingest.console.search.nested_keys import note_measure
from holter.ingest.console.search.pattern_search import LinearPattern
from holter.ingest.console.steps.step_axis import known_axis
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


def _note_names(line: str, state: DialectState) -> None:
    """Note names that have no number, if one is that of a metric; else the line may be a heading."""
    names = [name.strip(" \t|") for name in _SIGNS.split(line) if name.strip(" \t|\r")]
    state.pop("names above", None)
    if any(map(is_metric_name, names)):
        state["names above"] = names
        if len(names) == 1:
            note_measure(names[0], known_axis(state))
    else:
        announce(line, state)
        note_heading_of_subject(line, known_axis(state))


def _numbers(line: str, state: DialectState) -> LineResult:
    """The numbers below names, if there are as many of them."""
    names, numbers = state.pop("names above", []), _SEPARATORS.split(_AROUND.sub("", line))
    if not state.get("is near") or len(names) != len(numbers):
        return None
    named = (f"{name}: {number}" for name, number in zip(names, numbers, strict=True))
    return parse_metrics_of_epoch(" | ".join(named), state)


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
