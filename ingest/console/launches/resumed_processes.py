"""What programs print where they are started again, or load what a launch before them saved."""

from __future__ import annotations

import re

from holter.ingest.console.launches.crashes import LOADS
from holter.ingest.console.launches.process_starts import ANY_PROCESS_START
from holter.ingest.console.search.pattern_search import LinearPattern

BEGINS_TRAINING = rb"(?:start|begin)(?:ing)?(?: the)? train|train(?:ing)? (?:start|begin)"
"""What a program prints as a training begins, in any capitals."""
_RESUMES = LinearPattern(
    rb"(?i)\bresum(?:e|ed|es|ing)\b(?: the)?(?: training| run| model)? (?:from|at) [^\n]{0,100}"
    rb"(?:epoch|step|iter|checkpoint|ckpt|\.(?:pth?|pkl|h5|keras|tar)\b)"
    rb"|\bresumed (?:epoch|iter|step):? \d"
    rb"|\brestored all states from the checkpoint\b"
    rb"|\bcontinu(?:e|es|ing)\b(?: the)?(?: training| run)? from (?:the )?(?:global )?"
    rb"(?:epoch|step|iter(?:ation)?|checkpoint)\b"
    rb"|\b(?:(?:checkpoint|ckpt|snapshot|weights|model) found (?:at|in) (?:path )?[^\s,;]{1,200}"
    rb"|found (?:an? |the )?(?:existing |previous |saved |last |latest )?(?:checkpoint|ckpt|snapshot)\b"
    rb"[^\n]{0,200})[,;.:!-] {0,3}(?:resum|continu|pursu)ing (?:the )?training\b"
)
"""What a program prints that was started again and continues where the launch before ended."""
OF_PROCESSES = LinearPattern(
    rb"(?m)esum|ESUM|estored all|ontinu|ursuing|(?i:"
    + BEGINS_TRAINING
    + rb")|Traceback \(most|Killed|\*\*\* |Segmentation fault|(?:"
    + LOADS.pattern
    + rb")|"
    + ANY_PROCESS_START
)
"""What a text has that states anything of processes: nothing is looked for where none of it is there."""
_MAY_RESUME = (b"esum", b"ESUM", b"estored all", b"ontinu", b"ursuing")
"""What each such line has a part of."""
LOADED_AT = re.compile(
    rb"(?i)\b(?:loaded|restored) (?:the )?checkpoint [^\n(]{0,200}"
    rb"\((?:at )?(?:epoch|step|iter(?:ation)?)[ :=]{1,3}(\d{1,9})[^\d.]"
)
"""What states the position of a checkpoint that was loaded: `=> loaded checkpoint 'last.tar' (epoch 3)`."""


def resumes(block: bytes, begin: int, end: int) -> bool:
    """Whether a part of a block has a line of a program that resumes."""
    may_resume = any(block.find(word, begin, end) >= 0 for word in _MAY_RESUME)
    return may_resume and _RESUMES.search(block, begin, end) is not None
