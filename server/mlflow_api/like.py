"""SQL's LIKE, in time linear in the text."""

from __future__ import annotations

import re
from functools import lru_cache

import re2  # type: ignore[import-untyped]

_CACHED = 256
_WILDCARDS = {"%": ".*", "_": "."}


def like(text: str, pattern: str, *, ignore_case: bool) -> bool:
    """Whether a text matches a pattern in which % stands for any characters and _ for one."""
    return _compiled(pattern, ignore_case).fullmatch(text) is not None


@lru_cache(_CACHED)
def _compiled(pattern: str, ignore_case: bool) -> re.Pattern[str]:
    options = re2.Options()
    options.dot_nl = True
    options.case_sensitive = not ignore_case
    expression = "".join(_WILDCARDS.get(letter) or re2.escape(letter) for letter in pattern)
    compiled: re.Pattern[str] = re2.compile(expression, options)
    return compiled
