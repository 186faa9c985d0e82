"""Worst-case texts for regular expressions, derived from their own syntax, and the patterns of a package."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any, NamedTuple

SAMPLES = "a1 \t.=-_/,:|[](){}\"'#*+%Z\n"
"""Characters that are tried as repeated ones where a class accepts them."""
_UNBOUNDED = 100
"""A quantifier that allows this many repetitions counts as unbounded."""
_UNANCHORED = {"search", "finditer", "findall", "sub", "split"}


class Attack(NamedTuple):
    """A text `prefix + pump * n + suffix`."""

    prefix: str
    pump: str
    suffix: str

    def text(self, size: int) -> str:
        """The text, of about `size` characters."""
        return self.prefix + self.pump * (size // len(self.pump)) + self.suffix


class UsedPattern(NamedTuple):
    """A compiled pattern, where it is defined, and how it is applied: search, match or fullmatch."""

    where: str
    pattern: re.Pattern[Any]
    method: str


def attacks(pattern: re.Pattern[Any]) -> set[Attack]:
    """Texts for which a backtracking search may take more than linear time."""
    source = pattern.pattern
    text = source.decode("latin-1") if isinstance(source, bytes) else source
    return set(_attacks(list(parser.parse(text, pattern.flags & ~re.DEBUG)), ""))


def _attacks(tokens: list[Any], prefix: str) -> Iterator[Attack]:
    for position, (kind, value) in enumerate(tokens):
        if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            _, most, inner = value
            inner = list(inner)
            if most >= _UNBOUNDED:
                example = _example(inner)
                pumps = {example, *(char for char in SAMPLES if _accepts(inner, char))} - {""}
                yield from (Attack(prefix, pump, end) for pump in pumps for end in ("", "\x00", "\n"))
                yield from (
                    Attack("", begin + pump, "\x00") for begin in [prefix] if begin for pump in {example}
                )
                if prefix:
                    yield Attack("", prefix, "\x00")
            yield from _attacks(inner, prefix)
        elif kind is sre.BRANCH:
            for branch in value[1]:
                yield from _attacks(list(branch), prefix)
        elif kind is sre.SUBPATTERN:
            yield from _attacks(list(value[3]), prefix)
        elif kind is sre.ATOMIC_GROUP:
            yield from _attacks(list(value), prefix)
        prefix += _example(tokens[position : position + 1])


def _example(tokens: Iterable[Any]) -> str:
    """A short text that some tokens match, as far as that is simple."""
    text = ""
    for kind, value in tokens:
        if kind is sre.LITERAL:
            text += chr(value)
        elif kind is sre.NOT_LITERAL or kind is sre.ANY or kind is sre.IN:
            text += next((char for char in SAMPLES if _accepts([(kind, value)], char)), _first(value))
        elif kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            text += _example(value[2]) * min(max(value[0], 1), 30)
        elif kind is sre.BRANCH:
            text += _example(value[1][0])
        elif kind is sre.SUBPATTERN:
            text += _example(value[3])
        elif kind is sre.ATOMIC_GROUP:
            text += _example(value)
    return text


def _first(members: Any) -> str:
    for kind, value in members if isinstance(members, list) else ():
        if kind is sre.LITERAL:
            return chr(value)
        if kind is sre.RANGE:
            return chr(value[0])
    return ""


def _accepts(tokens: list[Any], char: str) -> bool:
    """Whether a single character matches some tokens."""
    try:
        state = parser.State()
        state.flags = state.flags | re.DOTALL
        compiled = re._compiler.compile(parser.SubPattern(state, tokens))  # type: ignore[attr-defined]
    except (re.error, IndexError, AssertionError, TypeError, OverflowError):
        return False
    return compiled.fullmatch(char) is not None


def seconds(used: UsedPattern, text: str) -> float:
    """Processor time that applying a pattern to a text takes."""
    subject: Any = text.encode("latin-1", "replace") if isinstance(used.pattern.pattern, bytes) else text
    began = time.process_time()
    if used.method == "search":
        for _ in used.pattern.finditer(subject):
            pass
    else:
        getattr(used.pattern, used.method)(subject)
    return time.process_time() - began


def patterns_of(package: ModuleType) -> list[UsedPattern]:
    """Every compiled pattern that the modules of a package hold at their top level."""
    found: dict[tuple[Any, int], UsedPattern] = {}
    for info in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if info.name.rpartition(".")[2] == "__main__":
            continue
        module = importlib.import_module(info.name)
        source = inspect.getsource(module)
        for name, value in vars(module).items():
            for pattern in _patterns(value, set()):
                methods = set(re.findall(rf"\b{re.escape(name)}\.(\w+)\b", source)) - {"pattern"}
                alone = isinstance(value, re.Pattern) and methods and not methods & _UNANCHORED
                method = ("match" if "match" in methods else "fullmatch") if alone else "search"
                key = pattern.pattern, pattern.flags
                if key not in found or found[key].method != "search":
                    found[key] = UsedPattern(f"{info.name}.{name}", pattern, method)
    return list(found.values())


def _patterns(value: Any, seen: set[int]) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
        return
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, dict):
        for item in (*value.keys(), *value.values()):
            yield from _patterns(item, seen)
    elif isinstance(value, tuple | list | set | frozenset):
        for item in value:
            yield from _patterns(item, seen)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from _patterns(getattr(value, field.name), seen)
