"""Numbers as programs print the objects that hold them: `tensor(0.25, device='cuda:0')`."""

from __future__ import annotations

import re

_OBJECT = re.compile(
    r"(?<![\w.])(?:(?:np|numpy|torch|tf|jnp)\.)?(?:[Tt]ensor|[Aa]rray|float\d\d|int\d\d)"
    r"\(\[?([-+.\deEnaif]{1,40})\]?(?:,[^()\n]{0,80}(?:\(\)[^()\n]{0,40})?)?\)"
)


def without_objects(text: str) -> str:
    """The text with each such number alone: `Error 0.25`."""
    return _OBJECT.sub(r"\1", text) if "(" in text else text
