"""Loads pickles of plain values only: lists, tuples, dictionaries, text, bytes, numbers.

The opcodes are interpreted here, and those that import or call anything are not supported, so that loading a
file cannot execute code. Source: the protocol's description in CPython's Lib/pickletools.py.
"""

from __future__ import annotations

import pickletools
from typing import Any

MAX_VALUES = 4_000_000
MAX_EXPANDED_VALUES = 50_000_000
"""Values if each reference to a shared one were written out: what printing or copying them would cost."""
_MARK = object()

_LITERALS = frozenset(
    {"INT", "LONG", "BININT", "BININT1", "BININT2", "LONG1", "LONG4", "FLOAT", "BINFLOAT"}
    | {"STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"}
    | {"BINBYTES", "SHORT_BINBYTES", "BINBYTES8"}
)
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_EMPTY = {"EMPTY_LIST": list, "EMPTY_TUPLE": tuple, "EMPTY_DICT": dict}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_IGNORED = frozenset({"PROTO", "FRAME"})
_KEYS = (str, int, float, bytes, type(None))


class UnsafePickleError(ValueError):
    """A pickle has values that are not plain, or too many."""


def loads(data: bytes) -> Any:
    """The value that a pickle holds.

    Raises UnsafePickleError for values that are not plain, too many, or within themselves: some hundred bytes
    of references to references can stand for more values than memory holds. Raises ValueError for a pickle
    that is broken or incomplete.
    """
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    try:
        for count, (opcode, argument, _) in enumerate(pickletools.genops(data)):
            if count > MAX_VALUES:
                raise UnsafePickleError(f"more than {MAX_VALUES:,} values")
            if opcode.name == "STOP":
                (value,) = stack
                if _expanded_size(value) > MAX_EXPANDED_VALUES:
                    raise UnsafePickleError(f"more than {MAX_EXPANDED_VALUES:,} values, written out")
                return value
            _execute(opcode.name, argument, stack, memo)
    except (IndexError, KeyError, TypeError, UnicodeError, OverflowError, RecursionError) as error:
        raise ValueError(f"broken: {type(error).__name__}") from error
    raise ValueError("it has no end")


def _expanded_size(value: Any) -> int:
    """The number of values with every reference written out, up to one more than `MAX_EXPANDED_VALUES`.

    A value within itself has no end and counts as too large.
    """
    sizes: dict[int, int] = {}  # those of containers by identity; one that is being counted is absent
    begun: set[int] = set()
    pending: list[tuple[Any, bool]] = [(value, False)]
    while pending:
        container, is_counted = pending.pop()
        if not isinstance(container, list | tuple | dict):
            continue
        members = container.values() if isinstance(container, dict) else container
        if is_counted:
            size = 1 + sum(_size_of(member, sizes) for member in members)
            sizes[id(container)] = min(size, MAX_EXPANDED_VALUES + 1)
        elif id(container) not in begun:
            begun.add(id(container))
            pending.append((container, True))
            pending += [(member, False) for member in members if isinstance(member, list | tuple | dict)]
    return _size_of(value, sizes)


def _size_of(value: Any, sizes: dict[int, int]) -> int:
    return sizes.get(id(value), MAX_EXPANDED_VALUES + 1) if isinstance(value, list | tuple | dict) else 1


def _execute(name: str, argument: Any, stack: list[Any], memo: dict[int, Any]) -> None:
    if name in _LITERALS:
        stack.append(argument)
    elif name in _CONSTANTS:
        stack.append(_CONSTANTS[name])
    elif name in _EMPTY:
        stack.append(_EMPTY[name]())
    elif name == "MARK":
        stack.append(_MARK)
    elif name == "MEMOIZE":
        memo[len(memo)] = stack[-1]
    elif name in ("PUT", "BINPUT", "LONG_BINPUT"):
        memo[int(argument)] = stack[-1]
    elif name in ("GET", "BINGET", "LONG_BINGET"):
        stack.append(memo[int(argument)])
    elif name not in _IGNORED:
        _collect(name, stack)


def _collect(name: str, stack: list[Any]) -> None:
    """Move values from the top of the stack into their container."""
    if name in _TUPLES:
        stack[-_TUPLES[name] :] = [tuple(stack[-_TUPLES[name] :])]
    elif name == "TUPLE":
        stack.append(tuple(_pop_to_mark(stack)))
    elif name == "LIST":
        stack.append(_pop_to_mark(stack))
    elif name == "DICT":
        stack.append({})
        _update(stack[-1], _pop_below_top(stack))
    elif name == "APPEND":
        value = stack.pop()
        _check_list(stack[-1]).append(value)
    elif name == "APPENDS":
        values = _pop_to_mark(stack)
        _check_list(stack[-1]).extend(values)
    elif name == "SETITEM":
        pair = stack[-2:]
        del stack[-2:]
        _update(stack[-1], pair)
    elif name == "SETITEMS":
        pairs = _pop_to_mark(stack)
        _update(stack[-1], pairs)
    else:
        raise UnsafePickleError(f"plain values expected, found {name}: nothing is imported or called")


def _pop_to_mark(stack: list[Any]) -> list[Any]:
    index = len(stack) - 1
    while stack[index] is not _MARK:
        if index == 0:
            raise IndexError
        index -= 1
    values = stack[index + 1 :]
    del stack[index:]
    return values


def _pop_below_top(stack: list[Any]) -> list[Any]:
    top = stack.pop()
    values = _pop_to_mark(stack)
    stack.append(top)
    return values


def _check_list(value: Any) -> list[Any]:
    if type(value) is not list:
        raise TypeError
    return value


def _update(value: Any, pairs: list[Any]) -> None:
    if type(value) is not dict or len(pairs) % 2 or any(not isinstance(key, _KEYS) for key in pairs[::2]):
        raise TypeError
    value.update(zip(pairs[::2], pairs[1::2], strict=True))
