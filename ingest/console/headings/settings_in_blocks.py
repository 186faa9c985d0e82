"""Settings below one another with names like constants, as those of yacs: `  FG_IOU_THRESHOLD: 0.5`.

Behind several of them others are settings as well, whatever is in their names: `  LOSS_ALPHA: 0.25`. Their
sections are no headings: `TEST:`. So is a learning rate right below `dropout: 0.1` and `batch_size: 32`, as
the next launch prints them before it trains.
"""

from __future__ import annotations

import re

from holter.ingest.console.dialect import DialectState
from holter.ingest.console.line.line_settings import is_learning_rate, is_of_model
from holter.ingest.console.steps.known_steps import known_axis
from holter.ingest.console.steps.positions import position
from holter.ingest.metric_names import is_metric_name

_SETTING = re.compile(r"(?P<indent>[ \t]{1,40})(?P<name>[A-Z][A-Z\d_]{0,60}): {1,4}\S")
_SECTION = re.compile(r"[A-Z][A-Z_]{0,40}:\s*")
_OF_TRAINING = re.compile(
    r"(?i)\s{0,20}(?:batch[ _-]?size|drop[ _-]?out|weight[ _]decay|(?:random[ _])?seed"
    r"|num[ _](?:layers|workers)"
    r"|(?:hidden|embed(?:ding)?|char|word|seq)[ _](?:size|dim)|(?:max|num|n)[ _]?epochs?)"
    r"[ \t]{0,20}[:=][ \t]{0,20}[\w.+-]{1,20}\s{0,8}"
)
"""A line of nothing but a setting that no program prints as it trains."""
_RATE = re.compile(
    r"[ \t]{0,20}(?P<name>[A-Za-z][\w -]{0,20}?)[ \t]{0,20}[:=][ \t]{0,20}[\d.e-]{1,20}\s{0,8}"
)
_SETTINGS = "constants"
_OF_LAUNCH = "settings of launch"
_LEAST = 3
"""So many settings, none of which is measured, make a block of them."""
_LEAST_ABOVE_RATE = 2


def is_in_settings(line: str, state: DialectState) -> bool:
    """Whether a line is a setting because those above it are; `state` states whether it is near these."""
    match = _SETTING.match(line)
    if match is None:
        return False
    step = position(known_axis(state))
    indent, count, at = state.get(_SETTINGS, ("", 0, step))
    if indent != match["indent"] or at != step or not state.get("is near"):
        count = 0
    is_known = is_of_model(match["name"])
    is_among_settings = count >= _LEAST and not is_known
    if is_metric_name(match["name"]) and not is_among_settings:
        count = 0
    state[_SETTINGS] = [match["indent"], count + is_known, step]
    return is_among_settings


def note_settings_above(line: str, state: DialectState) -> None:
    """Note a setting of a training alone in its line; `state` states whether it is near the line before."""
    is_setting = _OF_TRAINING.fullmatch(line) is not None
    if not is_setting and _OF_LAUNCH not in state:
        return
    step = position(known_axis(state))
    above, at = state.get(_OF_LAUNCH, (0, step))
    if at != step or not state.get("is near"):
        above = 0
    if is_setting:
        state[_OF_LAUNCH] = [above + 1, step]
    elif not above or _RATE.fullmatch(line) is None:
        state.pop(_OF_LAUNCH, None)
    else:
        state[_OF_LAUNCH] = [above, step]


def is_rate_below_settings(line: str, state: DialectState) -> bool:
    """Whether a line is a learning rate right below settings of a training, a setting as these."""
    above, _ = state.get(_OF_LAUNCH, (0, None))
    match = _RATE.fullmatch(line) if above >= _LEAST_ABOVE_RATE else None
    return match is not None and is_learning_rate(match["name"])


def is_section_of_settings(line: str, state: DialectState) -> bool:
    """Whether a line is a key behind settings, with no step of a training between them."""
    if _SECTION.fullmatch(line) is None:
        return False
    _, count, at = state.get(_SETTINGS, ("", 0, None))
    return bool(count >= _LEAST and at == position(known_axis(state)))
