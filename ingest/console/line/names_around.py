"""Names with a number in them, before the number that they name: `reward (last 100 episodes): 0.5`."""

from __future__ import annotations

import re

from holter.ingest.console.line.line_words import DATA_SPLIT
from holter.ingest.console.line.number_names import MAX_NAME, NumberName, counts, name_before
from holter.ingest.metric_names import is_metric_name

_CLOSING = re.compile(r"(?: ?[A-Za-z]{1,20}){0,3}\) ?[:=]\s*$")
"""What follows a number that is a part of a name: `reward (last 100 episodes): 0.5`."""
_ENCLOSED = re.compile(r" ?\(((?:[A-Za-z]{1,20}:? ){0,3})$")
"""What is before such a number."""
_OVER = re.compile(
    r"([A-Za-z][A-Za-z ]{1,40}?) (?:(?:over|of|in|for|across)(?: the)?(?: last| past)?|(?:last|past)) $"
)
_TIME_OF = re.compile(
    r"([A-Za-z ]{0,30}\b[Tt]ime(?: to [a-z]{2,12}|(?= (?:for|per) )))(?: for| per)? (?:the )?(?:last )?$"
)
"""What is before how many a time is of: `time to learn 1 sample = 0.5ms`, `Time per 100 steps: 3.2`."""
_COUNTED_EPISODES = re.compile(
    r" (?:[a-z]+ )?(?:episodes|games|runs|trials|rollouts|batches|iterations|steps|samples?|examples|images)"
    r"(?:\)?\s?[:=]\s*| (?:is|was):? )$"
)
"""What is around a number that states over how many a mean is: `Average reward over 100 episodes: 12.3`."""
_WINDOW = re.compile(
    r"[ ,]{0,2}(?:\(?(?:averaged )?(?:over|of|in|for|across)(?: the)?(?: last| past| previous)? "
    r"|\((?:last|past|previous) )"
)
"""All of a text before a number of values that a mean is over, whose name is before what is counted:
`Average loss at step 200 for last 100 steps: 0.6`.
"""
_EQUALS = re.compile(r" {0,2}= {0,2}")
_END_OF_KEY = re.compile(r"['\"] ?: ")
"""The end of a key of a dictionary with a number in its name: `{'Dice, class 1': 0.5}`."""
_BEGIN_OF_KEY = re.compile(r"[{,] ?['\"]")
_BEHIND_NUMBERS_OF_NAMES = (_CLOSING, _COUNTED_EPISODES, _END_OF_KEY, _EQUALS)


def name_around(text: str, after: str, named: NumberName) -> str | None:
    """The name of the next number that one of a name between these texts is in; None if it is in none.

    It is "" where the name is further ahead: `loss at step 200 for last 100 steps: 0.6`.
    """
    is_counted = _COUNTED_EPISODES.fullmatch(after) is not None
    if is_counted and _WINDOW.fullmatch(text) is not None:
        return ""
    return _name_around(text, after) or _key_around(text, after) or _indexed(named, after) or None


def ends_name_around(text: str) -> bool:
    """Whether a text between two numbers ends a name that the first one is in."""
    return any(sign.match(text) is not None for sign in _BEHIND_NUMBERS_OF_NAMES)


def _key_around(text: str, after: str) -> str | None:
    """The name of a key of a dictionary that ends in a number; None of other numbers."""
    if _END_OF_KEY.match(after) is None:
        return None
    key = re.split(r"[{,] ?['\"]", text)[-1].strip(" ,:=_-") if _BEGIN_OF_KEY.search(text) else ""
    return key[:MAX_NAME] if key and "'" not in key and '"' not in key else None


def _indexed(named: NumberName, after: str) -> str:
    """The name of the next number, if this one is an index in it: `Stage 0 = 39.1`."""
    is_index = _EQUALS.fullmatch(after) is not None and named.name and not named.marked
    return named.name if is_index and not counts(named.name) else ""


def _name_around(text: str, after: str) -> str | None:
    """The name before the brackets that a number between these texts is in, None if there are none."""
    is_counted = _COUNTED_EPISODES.fullmatch(after) is not None
    if is_counted and (time := _TIME_OF.search(text)) is not None:
        return time[1].strip()
    if is_counted and (over := _OVER.search(text)) is not None:
        is_name = is_metric_name(over[1]) or DATA_SPLIT.fullmatch(over[1]) is not None
        return over[1] if is_name else f"{over[1]} over episodes"
    enclosed = _ENCLOSED.search(text) if _CLOSING.match(after) is not None else None
    if enclosed is None:
        return None
    name = name_before(text[: enclosed.start()]).name
    return None if not name or counts(name) else name
