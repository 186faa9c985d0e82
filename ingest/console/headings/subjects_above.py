"""Headings that state what the values below them are of: `Task 0`, `Client 3:`, `[Dataset CIFAR]`.

A program that evaluates several tasks at a step prints the same names for each. The values below the first
of its headings have no label, as it may be the only one; those of the same names below the others get what
differs as labels, up to the next line that states a step or an epoch.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from holter.ingest.console.dialect import DialectState, LineKind
from holter.ingest.console.search.pattern_search import LinearPattern
from holter.types import Labels, labels_of

_WORDS = (
    "dataset|subset|domain|category|class|client|agent|task|speaker|lang(?:uage)?|corpus|model|method|site"
)
_BEGIN = r"[^\w\n]{0,40}(?:[a-z]{1,20} ){0,3}?"
_HEADING = re.compile(
    rf"(?i){_BEGIN}(?P<word>{_WORDS})s?(?P<sign> ?[:=]|#)? {{0,4}}#?['\x22]?"
    r"(?P<name>[a-z][\w.+-]{0,60}?|\d{1,4})['\x22]?(?P<end> {0,4}[^\w\n'\x22 ][^\w\n]{0,40})?[ \t\r]{0,8}"
)
_ALL = rf"{_BEGIN}(?:global|server|federated|aggregated|overall|averaged?|mean|total)\b[^\d\n:=]{{0,40}}"
_ALL_TRAININGS = (
    rf"{_BEGIN}(?:all|averaged?|mean|overall|final|summary|aggregated?|results?) (?:[a-z]{{1,20}} ){{0,3}}"
    r"(?:\d{1,4}[ -])?(?:run|fold|seed|split|trial|task|subject|experiment)s"
)
_OF_ALL = re.compile(rf"(?i){_ALL}:?[^\w\n]{{0,40}}")
"""A heading of what is of none of the subjects above: `Evaluate global model`, `Overall:`."""
_OF_ALL_TRAININGS = re.compile(rf"(?i){_ALL_TRAININGS}:?[^\w\n]{{0,40}}")
"""A heading of what is of all trainings above: `All runs:`, `Average over 5 folds:`."""
_OPENING = re.compile(r"[\[(<=*#~-]")
_PREPOSITION = re.compile(r"(?i)\b(?:on|of|for)(?: the)? $")
_NO_NAMES = re.compile(
    r"[a-z]{2,40}(?:ed|ing)|and|for|in|is|of|on|with|names?|labels?|weights?|sizes?|summary"
    r"|(?i:metrics?|results?|scores?|performance|stat(?:istic)?s|history|report)"
)
_MOST_NAMES = 256
OF_ALL = "of all trainings"
"""That the results below are of all trainings of the launch."""


def note_subject(named: Mapping[str, str], axis: dict[str, Any]) -> None:
    """Note what the values below a heading are of."""
    subject = _subject_here(axis)
    if subject.get("now", named) != named:
        axis.pop("block", None)  # the results below are of another subject than those above
    subject["now"] = dict(named)
    subject.pop("has values", None)


def has_values_below(axis: dict[str, Any]) -> bool:
    """Whether values were below the last heading of a subject."""
    return "has values" in axis.get("subject", ())


def note_heading_of_subject(line: str, axis: dict[str, Any]) -> bool:
    """Note what a line states that the values below it are of, if it is such a heading; whether it is one."""
    if (match := _HEADING.fullmatch(line)) is not None:
        ahead = line[: match.start("word")]
        is_sign = match["sign"] or match["end"] or _OPENING.search(ahead) or _PREPOSITION.search(ahead)
        if is_sign and _NO_NAMES.fullmatch(match["name"]) is None:
            note_subject({match["word"].lower(): match["name"]}, axis)
            return True
        return False
    if "subject" in axis and _OF_ALL.fullmatch(line) is not None:
        axis["subject"].pop("now", None)
    if _OF_ALL_TRAININGS.fullmatch(line) is not None:
        axis.get("subject", {}).pop("now", None)
        axis[OF_ALL] = True
    return False


def subject_labels(names: Iterable[str], axis: dict[str, Any]) -> dict[str, str]:
    """The labels of values with these names: what the heading above them has that the first one had not."""
    if "now" not in axis.get("subject", ()):
        return {}
    subject = _subject_here(axis)
    if (now := subject.get("now")) is None:
        return {}
    given, shared = subject["given"], subject["shared"]
    subject["has values"] = True
    labels: dict[str, str] = {}
    for name in [*names][:_MOST_NAMES]:
        if len(given) < _MOST_NAMES and given.setdefault(name, now) != now and len(shared) < _MOST_NAMES:
            shared.setdefault(name, given[name])
        if name in shared:
            labels |= {word: value for word, value in now.items() if shared[name].get(word) != value}
    return labels


def labels_below(subject: Mapping[str, str], labels: Labels | None) -> Labels | None:
    """The labels of values of a subject, which other lines have given these."""
    return labels_of({**dict(labels or ()), **subject}) if subject else labels


def note_place(axis: dict[str, Any]) -> None:
    """Note where lines are that a heading of a subject is above: reading one may have moved the step."""
    if "subject" in axis:
        axis["subject"]["at"] = _place(axis)


def _subject_here(axis: dict[str, Any]) -> dict[str, Any]:
    """What is known of the headings since the last line that stated a step or an epoch."""
    subject: dict[str, Any] = axis.setdefault("subject", {"shared": {}, "given": {}, "at": None})
    if subject["at"] != (here := _place(axis)):
        subject["at"], subject["given"] = here, {}
        subject.pop("now", None)
    return subject


def _place(axis: dict[str, Any]) -> list[Any]:
    """What lines above have stated of the step."""
    return [axis.get("announced"), axis.get("heading"), axis.get("step")]


def _note(line: str, state: DialectState) -> None:
    if "plain lines" in state:
        note_heading_of_subject(line, state["plain lines"])


SUBJECT_HEADINGS = LineKind(
    pattern=LinearPattern(
        rf"(?im)^{_BEGIN}(?:{_WORDS})s? ?[:=#]? {{0,4}}#?['\x22]?(?:[a-z][\w.+-]{{0,60}}|\d{{1,4}})"
        rf"['\x22]?[^\w\n]{{0,40}}$|^(?:{_ALL}|{_ALL_TRAININGS}):?[^\w\n]{{0,40}}$".encode()
    ),
    parse=_note,
    any_program=True,
)
"""Lines of nothing but what the values below them are of."""
