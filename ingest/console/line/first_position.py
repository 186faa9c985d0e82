"""A word where lines count their epoch or step, for what was measured before the first one.

`Epoch: init  loss: 2.31` above `Epoch: 1  loss: 1.87` is at the step 0.
"""

from __future__ import annotations

import re

_INITIAL = re.compile(
    r"(?i)(?<![a-z])(epoch|step|iter(?:ation)?|round)([ \t]{0,2}(?:[:=#] ?|[\[(]|[ \t]))"
    r"init(?:ial)?(?=[\])]?(?:[\s,;:|]|$))"
)


def with_first_position(line: str) -> str:
    """The line with 0 for the word for what was before the first step."""
    return _INITIAL.sub(r"\g<1>\g<2>0", line, count=1) if "nit" in line else line
