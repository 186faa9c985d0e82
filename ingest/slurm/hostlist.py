"""SLURM's node lists: `n[1-3,7]` is n1, n2, n3 and n7.

Own code, since python-hostlist is licensed under the GPL and has no ranges with a step (`n[1-9:2]`).
"""

from __future__ import annotations

import re
from itertools import product

MOST = 16_384
"""Nodes of a list; the largest machine has fewer."""
_LONGEST = 100_000
_PART = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"(\d{1,10})(?:-(\d{1,10}))?(?::(\d{1,6}))?")


def expand(text: str) -> list[str]:
    """The nodes of a list, in its order. Raises ValueError for what is none, or holds more than `MOST`."""
    if len(text) > _LONGEST:
        raise ValueError(f"expected a node list of at most {_LONGEST} characters")
    nodes: list[str] = []
    for name in _split(text.strip()):
        fixed = _PART.split(name)
        choices = [_numbers(part) if at % 2 else [part] for at, part in enumerate(fixed)]
        size = 1
        for choice in choices:
            size *= len(choice)
        if len(nodes) + size > MOST:
            raise ValueError(f"expected at most {MOST} nodes, found more in {text[:60]!r}")
        nodes += ["".join(parts) for parts in product(*choices)]
    return nodes


def _split(text: str) -> list[str]:
    """The names between commas that stand outside of brackets."""
    if not re.fullmatch(r"[\w.,:\[\]-]+", text):
        raise ValueError(f"expected a node list such as n[1-3,7], found {text[:60]!r}")
    names, depth, begin = [], 0, 0
    for at, sign in enumerate(text):
        depth += (sign == "[") - (sign == "]")
        if depth not in (0, 1):
            raise ValueError(f"expected brackets in pairs, found {text[:60]!r}")
        if sign == "," and not depth:
            names.append(text[begin:at])
            begin = at + 1
    if depth:
        raise ValueError(f"expected brackets in pairs, found {text[:60]!r}")
    return [name for name in (*names, text[begin:]) if name]


def _numbers(part: str) -> list[str]:
    """`1-3,007` as numbers, with the width of their first digits; `1-9:2` in steps."""
    found: list[str] = []
    for piece in part.split(","):
        numbers = _RANGE.fullmatch(piece)
        if numbers is None:
            raise ValueError(f"expected numbers such as 1-3, found {piece[:40]!r}")
        first, last, step = int(numbers[1]), int(numbers[2] or numbers[1]), int(numbers[3] or 1)
        if last < first or not step or (last - first) // step >= MOST:
            raise ValueError(f"expected a range of at most {MOST} numbers, found {piece[:40]!r}")
        found += [str(number).zfill(len(numbers[1])) for number in range(first, last + 1, step)]
    return found
