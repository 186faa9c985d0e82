"""Matchers of labels, as in Alertmanager: `kind="stall"`, `project=~"llm-.*"`, `severity!="info"`.

Regular expressions are matched in full, by RE2: in linear time, with the syntax that Alertmanager's have.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import re2  # type: ignore[import-untyped]

LabelSet = Mapping[str, Sequence[str]]
"""Values by label name. A label may have several values (`tags`); one without values is the empty text."""

MAX_PATTERN = 1000
"""Characters of a matcher's value."""
_FORM = re.compile(
    r'\s*([a-zA-Z_:][a-zA-Z0-9_:]*)\s*(=~|!~|!=|=)\s*(?:"((?:[^"\\\n]|\\.)*)"|([^"{}\s,]*))\s*'
)
_ESCAPES = {"n": "\n", "\\": "\\", '"': '"'}
_EXPECTED = 'expected NAME="VALUE" with one of = != =~ !~, such as severity="critical"'


class MatcherError(ValueError):
    """A matcher cannot be parsed; the message quotes it and states what was expected."""


@dataclass(frozen=True, slots=True)
class Matcher:
    """One condition on a label. `!=` and `!~` hold where no value matches, the others where one does."""

    name: str
    operator: str
    value: str
    _test: Callable[[str], bool] = field(repr=False, compare=False)

    def matches(self, labels: LabelSet) -> bool:
        """Whether the condition holds; a label that is missing has the empty text as its value."""
        found = any(self._test(value) for value in labels.get(self.name) or ("",))
        return found is not self.operator.startswith("!")

    def __str__(self) -> str:
        escaped = self.value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
        return f'{self.name}{self.operator}"{escaped}"'


def parse_matcher(text: str) -> Matcher:
    """The matcher of a text. Raises MatcherError."""
    if (form := _FORM.fullmatch(text)) is None:
        raise MatcherError(f"{text!r}: {_EXPECTED}")
    name, operator, quoted, bare = form.groups()
    value = bare if quoted is None else re.sub(r"\\(.)", _unescape, quoted)
    return make_matcher(name, operator, value)


def make_matcher(name: str, operator: str, value: str) -> Matcher:
    """The matcher of its parts. Raises MatcherError for a pattern that RE2 does not accept."""
    if len(value) > MAX_PATTERN:
        raise MatcherError(f"{name}{operator}...: expected at most {MAX_PATTERN:,} characters")
    if operator in {"=", "!="}:
        return Matcher(name, operator, value, value.__eq__)
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 1 << 20
    try:
        pattern = re2.compile(value, options)
    except re2.error as error:
        reason = error.args[0] if error.args else "not accepted"
        reason = reason.decode(errors="replace") if isinstance(reason, bytes) else reason
        raise MatcherError(f"{name}{operator}{value!r}: not a regular expression (RE2): {reason}") from None
    return Matcher(name, operator, value, lambda text: pattern.fullmatch(text) is not None)


def parse_matchers(texts: Iterable[str]) -> tuple[Matcher, ...]:
    """The matchers of several texts. Raises MatcherError."""
    return tuple(parse_matcher(text) for text in texts)


def all_match(matchers: Iterable[Matcher], labels: LabelSet) -> bool:
    """Whether all conditions hold."""
    return all(matcher.matches(labels) for matcher in matchers)


def _unescape(escape: re.Match[str]) -> str:
    # like Alertmanager, which leaves unknown escapes as they are: a pattern such as \d needs no doubling
    return _ESCAPES.get(escape[1], escape[0])
