"""Worst-case texts for regular expressions, derived from their own syntax, and the patterns of a package."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from re import _compiler as compiler  # type: ignore[attr-defined]
from re import _constants as kinds  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any, NamedTuple, TypeGuard

SAMPLES = "a1 \t.=-_/,:|[](){}\"'#*+%Z\n"
"""Characters that are tried as repeated ones where a class accepts them."""
_UNBOUNDED = 100
"""A quantifier that allows this many repetitions counts as unbounded."""
_MAX_EXAMPLE_REPEATS = 30
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

    location: str
    pattern: re.Pattern[Any]
    method: str

    @property
    def module(self) -> str:
        """The module where it is defined: a location is `MODULE.NAME` or `MODULE:LINE`."""
        name, separator, _ = self.location.rpartition(":")
        return name if separator else self.location.rpartition(".")[0]

    def seconds(self, text: str) -> float:
        """Processor time that applying the pattern to a text takes."""
        subject: Any = text.encode("latin-1", "replace") if isinstance(self.pattern.pattern, bytes) else text
        began = time.process_time()
        if self.method == "search":
            for _ in self.pattern.finditer(subject):
                pass
        else:
            getattr(self.pattern, self.method)(subject)
        return time.process_time() - began


def attacks(pattern: re.Pattern[Any]) -> list[Attack]:
    """Texts for which a backtracking search may take more than linear time.

    For each quantifier: what comes before it, then many repetitions of what it accepts, then a mismatch; and
    many repetitions of what comes before it, where each one begins a search of its own.
    """
    source = pattern.pattern
    text = source.decode("latin-1") if isinstance(source, bytes) else source
    return sorted(set(_attacks(list(parser.parse(text, pattern.flags & ~re.DEBUG)), "")))


def _attacks(tokens: list[Any], prefix: str) -> Iterator[Attack]:
    for position, (kind, value) in enumerate(tokens):
        if kind in (kinds.MAX_REPEAT, kinds.MIN_REPEAT, kinds.POSSESSIVE_REPEAT):
            _, most, repeated = value
            inner = list(repeated)
            if most >= _UNBOUNDED:
                example = _example(inner)
                pumps = {example, *(char for char in SAMPLES if _accepts(inner, char))} - {""}
                yield from (Attack(prefix, pump, end) for pump in pumps for end in ("\x00", "\n"))
                if prefix:
                    yield Attack("", prefix, "\x00")
                    yield Attack("", prefix + example, "\x00")
            yield from _attacks(inner, prefix)
        elif kind is kinds.BRANCH:
            for branch in value[1]:
                yield from _attacks(list(branch), prefix)
        elif kind in (kinds.SUBPATTERN, kinds.ATOMIC_GROUP):
            yield from _attacks(list(value[3] if kind is kinds.SUBPATTERN else value), prefix)
        prefix += _example(tokens[position : position + 1])


def _example(tokens: Iterable[Any]) -> str:
    """A short text that some tokens match, as far as that is simple."""
    text = ""
    for kind, value in tokens:
        if kind is kinds.LITERAL:
            text += chr(value)
        elif kind in (kinds.NOT_LITERAL, kinds.ANY, kinds.IN):
            text += next((char for char in SAMPLES if _accepts([(kind, value)], char)), _first(value))
        elif kind in (kinds.MAX_REPEAT, kinds.MIN_REPEAT, kinds.POSSESSIVE_REPEAT):
            text += _example(value[2]) * min(max(value[0], 1), _MAX_EXAMPLE_REPEATS)
        elif kind is kinds.BRANCH:
            text += _example(value[1][0])
        elif kind in (kinds.SUBPATTERN, kinds.ATOMIC_GROUP):
            text += _example(value[3] if kind is kinds.SUBPATTERN else value)
    return text


def _first(members: Any) -> str:
    """The first character of a class, "" if it has none of its own."""
    for kind, value in members if isinstance(members, list) else ():
        if kind in (kinds.LITERAL, kinds.RANGE):
            return chr(value if kind is kinds.LITERAL else value[0])
    return ""


def _accepts(tokens: list[Any], char: str) -> bool:
    """Whether a single character matches some tokens."""
    state = parser.State()
    try:
        compiled = compiler.compile(parser.SubPattern(state, tokens))
    except (re.error, IndexError, AssertionError, TypeError, OverflowError):  # e.g. a reference to a group
        return False
    return compiled.fullmatch(char) is not None


class InlineCall(NamedTuple):
    """A call of a function of `re` in the source; `pattern` is None where it is no literal.

    `at_import`: it runs once, when the module is imported.
    """

    location: str
    method: str
    pattern: str | bytes | None
    flags: int
    at_import: bool


def modules_of(packages: Iterable[ModuleType]) -> Iterator[ModuleType]:
    """Packages and the modules below them, without scripts that run when they are imported."""
    for package in packages:
        yield package
        for info in pkgutil.walk_packages(getattr(package, "__path__", ()), package.__name__ + "."):
            if not info.name.endswith("__main__"):
                yield importlib.import_module(info.name)


def patterns_of(modules: Iterable[ModuleType]) -> list[UsedPattern]:
    """Every compiled pattern that modules and their classes have, and those that cached functions return."""
    patterns: dict[tuple[Any, int], UsedPattern] = {}
    for module in modules:
        source = inspect.getsource(module)
        methods_of_tables = set(re.findall(r"\bpattern\.(\w+)\(", source))
        for name, value in vars(module).items():
            methods = methods_of_tables  # their patterns are applied in a loop
            if isinstance(value, re.Pattern):
                methods = set(re.findall(rf"\b{re.escape(name)}\.(\w+)\b", source))
            is_named = isinstance(value, re.Pattern) and bool(methods)
            is_anchored = bool(methods) and not methods & _UNANCHORED
            method = ("match" if "match" in methods else "fullmatch") if is_anchored else "search"
            if isinstance(value, type) and value.__module__ == module.__name__:
                value = {key: member for key, member in vars(value).items() if not key.startswith("__")}
            elif _is_cached_table(value, module):
                value = value()
            for pattern in _patterns(value, set()):
                key = pattern.pattern, pattern.flags
                if key not in patterns or is_named:
                    patterns[key] = UsedPattern(f"{module.__name__}.{name}", pattern, method)
    return list(patterns.values())


def _is_cached_table(value: Any, module: ModuleType) -> bool:
    """Whether a value is a function of a module that reads a table once: cached and without parameters."""
    if not hasattr(value, "cache_info") or value.__module__ != module.__name__:
        return False
    signature = inspect.signature(value)
    return not signature.parameters and "re.Pattern" in str(signature.return_annotation)


def inline_calls(modules: Iterable[ModuleType]) -> list[InlineCall]:
    """Every call of a function of `re` in the source of modules."""
    return [call for module in modules for call in _calls_of(module)]


def _calls_of(module: ModuleType) -> Iterator[InlineCall]:
    source = inspect.getsource(module)
    if not re.search(r"\bre\.\w+\(", source):
        return
    for node, at_import in _nodes(ast.parse(source)):
        if _is_re_call(node):
            literal, flags = _literal(node)
            yield InlineCall(f"{module.__name__}:{node.lineno}", node.func.attr, literal, flags, at_import)


def _nodes(tree: ast.AST) -> Iterator[tuple[ast.AST, bool]]:
    """The nodes of a tree, and whether each runs when its module is imported."""
    waiting = [(tree, True)]
    while waiting:
        node, at_import = waiting.pop()
        yield node, at_import
        at_import &= not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        waiting += [(child, at_import) for child in ast.iter_child_nodes(node)]


def _is_re_call(node: ast.AST) -> TypeGuard[Any]:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr != "escape"
    )


def _literal(call: ast.Call) -> tuple[str | bytes | None, int]:
    """The pattern of a call, None if it is no literal, and the flags."""
    flags = [value for value in (*call.args[1:], *call.keywords) if "re." in ast.unparse(value)]
    numbers = [
        int(getattr(re, name)) for name in re.findall(r"re\.([A-Z]+)", " ".join(map(ast.unparse, flags)))
    ]
    try:
        pattern = ast.literal_eval(call.args[0])
    except ValueError:
        pattern = None
    return pattern, sum(numbers)


def used_inline(calls: Iterable[InlineCall]) -> list[UsedPattern]:
    """The literal patterns of calls that search a text at once."""
    return [
        UsedPattern(
            call.location,
            re.compile(call.pattern, call.flags),
            call.method if call.method in ("match", "fullmatch") else "search",
        )
        for call in calls
        if call.pattern is not None and call.method != "compile"
    ]


def _patterns(value: Any, seen: set[int]) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif id(value) not in seen:
        seen.add(id(value))
        if isinstance(value, dict):
            members: Iterable[Any] = (*value.keys(), *value.values())
        elif isinstance(value, tuple | list | set | frozenset):
            members = value
        elif is_dataclass(value) and not isinstance(value, type):
            members = [getattr(value, field.name) for field in fields(value)]
        else:
            members = ()
        for member in members:
            yield from _patterns(member, seen)
