"""Pickles of plain values: lists, tuples, dictionaries, text, bytes, numbers. Nothing is ever called.

Source: the protocol's description in CPython's Lib/pickletools.py. The opcodes are interpreted here, and
those that import or call are not known: there is nothing that a file could make happen.
"""

from __future__ import annotations

import pickletools
from typing import Any

MAX_VALUES = 4_000_000
_MARK = object()

_GIVEN = frozenset(
    {"INT", "LONG", "BININT", "BININT1", "BININT2", "LONG1", "LONG4", "FLOAT", "BINFLOAT"}
    | {"STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"}
    | {"BINBYTES", "SHORT_BINBYTES", "BINBYTES8"}
)
_FIXED = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_EMPTY = {"EMPTY_LIST": list, "EMPTY_TUPLE": tuple, "EMPTY_DICT": dict}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_PASSED = frozenset({"PROTO", "FRAME"})
_KEYS = (str, int, float, bytes, type(None))


class UnsafePickleError(ValueError):
    """A pickle that holds more than plain values, or too many of them."""


def loads(data: bytes) -> Any:
    """The value that a pickle holds. Raises NotPlain, and ValueError for one that is broken or not whole."""
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    try:
        for count, (opcode, argument, _) in enumerate(pickletools.genops(data)):
            if count > MAX_VALUES:
                raise UnsafePickleError(f"more than {MAX_VALUES:,} values")
            if opcode.name == "STOP":
                (value,) = stack
                return value
            _do(opcode.name, argument, stack, memo)
    except (IndexError, KeyError, TypeError, UnicodeError, OverflowError, RecursionError) as error:
        raise ValueError(f"broken: {type(error).__name__}") from error
    raise ValueError("it has no end")


def _do(name: str, argument: Any, stack: list[Any], memo: dict[int, Any]) -> None:
    if name in _GIVEN:
        stack.append(argument)
    elif name in _FIXED:
        stack.append(_FIXED[name])
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
    elif name not in _PASSED:
        _gather(name, stack)


def _gather(name: str, stack: list[Any]) -> None:
    """Put values on top of the stack into the container that they belong to."""
    if name in _TUPLES:
        stack[-_TUPLES[name] :] = [tuple(stack[-_TUPLES[name] :])]
    elif name == "TUPLE":
        stack.append(tuple(_since_mark(stack)))
    elif name == "LIST":
        stack.append(_since_mark(stack))
    elif name == "DICT":
        stack.append({})
        _set(stack[-1], _since_mark_below(stack))
    elif name == "APPEND":
        value = stack.pop()
        _list(stack[-1]).append(value)
    elif name == "APPENDS":
        values = _since_mark(stack)
        _list(stack[-1]).extend(values)
    elif name == "SETITEM":
        pair = stack[-2:]
        del stack[-2:]
        _set(stack[-1], pair)
    elif name == "SETITEMS":
        pairs = _since_mark(stack)
        _set(stack[-1], pairs)
    else:
        raise UnsafePickleError(f"plain values expected, found {name}: nothing is imported or called")


def _since_mark(stack: list[Any]) -> list[Any]:
    at = len(stack) - 1
    while stack[at] is not _MARK:
        if at == 0:
            raise IndexError
        at -= 1
    values = stack[at + 1 :]
    del stack[at:]
    return values


def _since_mark_below(stack: list[Any]) -> list[Any]:
    top = stack.pop()
    values = _since_mark(stack)
    stack.append(top)
    return values


def _list(value: Any) -> list[Any]:
    if type(value) is not list:
        raise TypeError
    return value


def _set(value: Any, pairs: list[Any]) -> None:
    if type(value) is not dict or len(pairs) % 2 or any(not isinstance(key, _KEYS) for key in pairs[::2]):
        raise TypeError
    value.update(zip(pairs[::2], pairs[1::2], strict=True))
