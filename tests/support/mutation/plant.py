"""Planting a fault: the functions of an imported module get the code that they would have with it.

Nothing is written to disk and nothing is imported again: a fault costs no more than the tests run with it.
"""

from __future__ import annotations

import ast
import gc
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType


def functions_of(module: Path) -> list[FunctionType]:
    """All function objects made from the text of a module that has been imported."""
    path, real_path = os.path.realpath(module), cache(os.path.realpath)
    return [
        found
        for found in gc.get_objects()
        if type(found) is FunctionType and real_path(found.__code__.co_filename) == path
    ]


def plant(functions: list[FunctionType], source: str, mutated: str) -> None:
    """Give functions, made from `source`, the code that `mutated` has for them."""
    codes = _codes_by_name(mutated)
    replaced = {
        (code.co_qualname, code.co_firstlineno): new
        for name, originals in _codes_by_name(source).items()
        for code, new in zip(originals, codes.get(name, []), strict=False)
    }
    for function in functions:
        original = function.__code__
        code = replaced[original.co_qualname, original.co_firstlineno]
        if code.co_freevars != original.co_freevars:
            # a deleted statement was the only one that used the variable: the others come first, as before
            assert code.co_freevars == original.co_freevars[: len(code.co_freevars)]
            code = code.replace(co_freevars=original.co_freevars)
        function.__code__ = code.replace(co_filename=original.co_filename)


def _codes_by_name(source: str) -> dict[str, list[CodeType]]:
    """The code of each function; of functions with one name (a property and its setter) in their order."""
    codes: dict[str, list[CodeType]] = {}
    for code in _nested(compile(source, "", "exec", dont_inherit=True)):
        codes.setdefault(code.co_qualname, []).append(code)
    return codes


def _nested(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _nested(constant)


def statement_lines(source: str, line: int) -> range:
    """The lines of the innermost statement around `line`, of a compound one those before its body."""
    found = range(line, line + 1)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt | ast.ExceptHandler):
            body = getattr(node, "body", None)
            lines = range(node.lineno, body[0].lineno if body else (node.end_lineno or node.lineno) + 1)
            if line in lines:
                found = lines
    return found
