"""Settings below one another with names like constants, as those of yacs: `  FG_IOU_THRESHOLD: 0.5`.

Behind several of them others are settings as well, whatever is in their names: `  LOSS_ALPHA: 0.25`. Their
sections are no headings: `TEST:`.
"""

from __future__ import annotations

import re

from holter.ingest.console.dialect import DialectState
from holter.ingest.console.line.line_settings import is_of_model
from holter.ingest.console.steps.step_axis import known_axis, position
from holter.ingest.metric_names import is_metric_name

_SETTING = re.compile(r"(?P<indent>[ \t]{1,40})(?P<name>[A-Z][A-Z\d_]{0,60}): {1,4}\S")
_SECTION = re.compile(r"[A-Z][A-Z_]{0,40}:\s*")
_SETTINGS = "constants"
_LEAST = 3
"""So many settings, none of which is measured, make a block of them."""


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


def is_section_of_settings(line: str, state: DialectState) -> bool:
    """Whether a line is a key behind settings, with no step of a training between them."""
    if _SECTION.fullmatch(line) is None:
        return False
    _, count, at = state.get(_SETTINGS, ("", 0, None))
    return bool(count >= _LEAST and at == position(known_axis(state)))
