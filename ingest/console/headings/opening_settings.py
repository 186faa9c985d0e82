"""Settings that a program prints before its first record: the same lines in the next launch are no results.

`lr: 0.1, alpha: 0.5, reward_scale: 0.1` has the name of a metric. Above the first position of a text it has
no step; behind the records of a launch it would be at the last one of these. So is a line of nothing but a
name and a number, `margin: 0.2`, where others above the first position are settings of a training.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

from holter.ingest.console.dialect import DialectState
from holter.ingest.console.line.data_names import is_of_evaluation
from holter.ingest.console.line.line_settings import has_settings, is_of_model, is_setting
from holter.ingest.console.steps.launch_beginnings import is_before_training
from holter.ingest.console.steps.positions import position
from holter.ingest.metric_names import is_metric_name

_MOST_LINES = 16
_POSITIONS = ("step", "announced", "heading", "epoch", "names")
_KNOWN, _ALONE, _BLOCK = "opening settings", "opening names", "opening block"
_ONE_ALONE = re.compile(
    r"[^\w\n]{0,20}(?P<name>[A-Za-z][\w-]{0,40}(?: [A-Za-z][\w-]{0,40}){0,3})"
    r"(?:[ \t.]{0,60}[:=]{1,2}|[ \t.]{1,60})[ \t]{0,40}"
    r"['\x22]?[+-]?(?:\d|\.\d)[\w.+-]{0,20}%?['\x22]?,?\s{0,8}"
)
_MARK = re.compile(
    r"(?i)(?<![a-z])(?:thr|thresh(?:old)?|scale|lambda|target|weight|coeff?|ratio|factor|margin)(?![a-z])"
)
"""What makes the name of a metric that of a setting, among others: `target_kl`, `score_thr`."""
_SIGNS = re.compile(r"[_-]")
_HYPERPARAMETER = re.compile(
    r"(?i)(?:^|[ _-])(?:alpha|beta|gamma|tau|epsilon|eps|momentum|temperature|dropout|decay|clip)\d?"
    r"(?:$|[ _-])"
)
"""Names of what is set for a training, which some programs print as it changes."""
_LEAST_NAMES = 2
_LEAST_SHARE = 0.75
"""Of the names above the first record that come together with the next launch."""
_LAST_OF_FIRST = 1
"""The number of the first epoch or step of a text, after which most is printed that is printed with each."""


def is_opening_setting(template: int, names: Sequence[str], axis: DialectState) -> bool:
    """Whether a line that counts nothing states settings as one above the first record did, which it notes.

    One of its names is that of a setting, the others are none of the values of records. A line that comes
    again at a later step than the last time is printed as the training continues.
    """
    if not any(map(is_setting, names)):
        return False
    key, known = str(template), axis.get(_KNOWN, {})
    if axis.keys().isdisjoint(_POSITIONS):
        if len(known) < _MOST_LINES:
            axis[_KNOWN] = {**known, key: None}
        return False
    if any(name in axis.get("names", ()) and not is_setting(name) for name in names):
        return False
    return _comes_again(key, known, axis)


def is_opening_name(line: str, state: DialectState) -> bool:
    """Whether a line of nothing but a name and a number states a setting, as lines above the first record do.

    These are noted, but for results: two or more are settings if one of them is known as that.
    """
    axis: dict[str, Any] = state.get("plain lines", {})
    is_opening = axis.keys().isdisjoint(_POSITIONS)
    if not (is_opening or _ALONE in axis) or not (name := _name_alone(line)):
        return False
    known = axis.get(_ALONE, {})
    if not is_opening:
        if not is_before_training(axis) and (position(axis) or 0) <= _LAST_OF_FIRST:
            known.pop(name, None)  # it is printed with each epoch
        comes_with_others = _comes_with_others(name, known, axis)
        return _are_settings(known) and _comes_again(name, known, axis, is_steady=not comes_with_others)
    if len(known) < _MOST_LINES and _may_be_setting(name):
        axis[_ALONE] = {**known, name: None}
        state["plain lines"] = axis
    return False


def is_among_opening_names(line: str, axis: DialectState) -> bool:
    """Whether a line above the first record is one of several settings, which wait for no record."""
    known = axis.get(_ALONE, {})
    return bool(known) and _name_alone(line) in known and _are_settings(known)


@lru_cache(maxsize=2048)  # asked for each line that waits when others come
def _name_alone(line: str) -> str:
    """The name in a line of nothing but a name and a number; nothing for others."""
    match = _ONE_ALONE.fullmatch(line)
    return "" if match is None else match["name"]


def _may_be_setting(name: str) -> bool:
    """Whether a name may be that of a setting next to others: it is that of no result."""
    if not is_metric_name(name) or is_setting(name):
        return True
    return _is_marked(name) and not is_of_evaluation(name)


def _are_settings(names: Collection[str]) -> bool:
    """Whether several names are settings: one of them is set for good, or two are set for a training."""
    return _are_names_of_settings(tuple(names))


@lru_cache(maxsize=64)  # the names of a text are the same ones for most of its lines
def _are_names_of_settings(names: tuple[str, ...]) -> bool:
    if len(names) < _LEAST_NAMES:
        return False
    if has_settings(names) or any(map(is_of_model, names)):
        return True
    return sum(_HYPERPARAMETER.search(name) is not None or _is_marked(name) for name in names) >= _LEAST_NAMES


def _is_marked(name: str) -> bool:
    return _MARK.search(_SIGNS.sub(" ", name)) is not None


def _comes_with_others(name: str, known: Mapping[str, int | None], axis: DialectState) -> bool:
    """Whether most of the names came below one another the last time, as those of a launch do."""
    block = axis.setdefault(_BLOCK, {"at": None, "names": [], "is of launch": False})
    step = position(axis)
    if block["at"] != step:
        block["is of launch"] |= len(block["names"]) >= max(_LEAST_NAMES, _LEAST_SHARE * len(known))
        block["at"], block["names"] = step, []
    block["names"] = [*dict.fromkeys((*block["names"], name))]
    return bool(block["is of launch"])


def _comes_again(
    key: str, known: dict[str, int | None], axis: DialectState, *, is_steady: bool = True
) -> bool:
    """Whether what was printed above the first record comes again with the next launch.

    What is printed in the first epoch as well is printed as the training continues. So is what `is_steady`,
    if it is at a later step than the last time.
    """
    if key not in known or _is_in_first_epoch(axis):
        known.pop(key, None)
        return False
    step, last = position(axis), known[key]
    if is_steady and step is not None and last is not None and step > last:
        del known[key]
        return False
    known[key] = step
    return True


def _is_in_first_epoch(axis: DialectState) -> bool:
    """Whether no record of any launch was read, and no epoch but the first one was announced."""
    if "names" in axis or is_before_training(axis):
        return False
    return bool(axis.get("announced", [None])[0] == axis.get("first announced"))
