"""What loggers print before a message: a time, a level, the name of a logger, a process and a place.

`2026-05-04 10:00:01,123 - train - INFO - `, `[2026-05-04 10:00:01][INFO][train.py:55] `, `INFO:root:`,
`2026-05-04 10:00:01.123 | INFO     | __main__:main:55 - `, `I0504 10:00:01.123456 14 train.py:55] `. There is
a time, a level or the place in the source in it. A name alone is none: `loss: 0.5`. Nor is a time that may be
the first cell of a row, with blanks, a comma or a vertical line behind it.

Behind the level comes a message that may begin with a name or with brackets, too, so that nothing but places
and dotted names are taken for parts of the prefix there.
"""

from __future__ import annotations

_CLOCK = rb"\d\d?:\d\d:\d\d(?:[.,]\d{1,9}+)?+"
_ZONE = rb"(?:Z|[+-]\d\d:?\d\d| [A-Z]{3,4}(?= [|-] )| [AP]M)?+"
_TIME = (
    rb"(?:\d{4}[-/.]\d\d[-/.]\d\d(?:[T _]|, ?)" + _CLOCK + _ZONE + rb"|"
    rb"\d\d[-/.]\d\d(?:[-/.]\d{2,4}+)?+,? " + _CLOCK + _ZONE + rb"|"
    rb"20\d{6}[ _-]" + _CLOCK + rb"|"
    rb"(?:[A-Z][a-z]{2},? )?(?:[A-Z][a-z]{2} [ \d]?\d|\d\d? [A-Z][a-z]{2})(?:,? \d{4})? "
    + _CLOCK
    + rb"(?: \d{4}\b)?|"
    + _CLOCK
    + _ZONE
    + rb")"
)
_MINUTE = rb"(?:\d{4}[-/.])?\d\d[-/.]\d\d \d\d:\d\d(?![:.,\d])"
"""A date and a time without seconds, which is a time before a level alone: `10-22 22:19 root INFO `."""
_LEVELS = rb"(?:INFO|DEBUG|WARN(?:ING)?)"
_LEVEL = rb"(?:(?:" + _LEVELS + rb"|ERROR|CRITICAL|FATAL|NOTICE|TRACE|SUCCESS)(?![\w/.-]))"
_LOWER_LEVEL = rb"(?:[Ii]nfo|[Dd]ebug|[Ww]arning)"
_INSIDE = rb"(?:[^\[\]()\n=:]|:(?! )){0,80}+"
"""What is behind a time or a level in the same brackets: no name and its value, `epoch: 3`."""


def _in_brackets(inside: bytes) -> bytes:
    return rb"(?:\[ {0,4}+%b\]|\( {0,4}+%b\)|<%b>)" % (inside, inside, inside)


_SOURCE = (
    rb"(?:(?:[A-Za-z]:\\)?[\w.<>/\\-]{0,120}?\.py"
    rb"(?:(?:[:,(|]| line | ) {0,4}+\d{1,6}+\)?(?::[\w<>.]{1,60}+){0,2}| ?\[ ?(?:line)? ?:? ?\d{1,6}+\])"
    rb"|[\w.]{1,80}+:[\w<>.]{1,60}+:\d{1,6}+(?![\w.])"
    rb"|in '[\w.]{1,80}+'(?:\['\w{1,60}+'\])?+ at line \d{1,6}+)"
)
"""A file or a function, and a line in it: `train.py:55`, `__main__:main:55`, `in 'a.b'['b'] at line 55`.

The path may be one of Windows, and the line in brackets: `D:\\code\\train.py[line:55]`.
"""
_DOTTED = (
    rb"(?:[A-Za-z_]\w{0,40}+(?:\.[A-Za-z_]\w{0,40}+){1,6}+(?::\d{1,6}+)?|__main__(?::\d{1,6}+)?|root|main)"
)
_COUNTED = (
    rb"(?i:epoch|ep|step|iter|iteration|batch|round|global_step|train|val|valid|test|eval|fold|trial|client)"
)
_COUNTED_BEHIND = rb"(?i:epochs?|ep|steps?|iters?|iterations?|updates?|episodes?)"
"""What a number right before it counts: `3 epoch, `."""
_NAME_AND_LINE = (
    rb"(?:(?!(?:" + _COUNTED + rb"|" + _COUNTED_BEHIND + rb"):)[a-z_]\w{0,60}+(?=: {2,4}\d{1,3}: )|"
    rb"[a-z_]\w{0,40}+(?:\.\w{1,40}+){1,6}+(?=: {1,4}\d{1,6}: ))(?=:[ \d]{5}: ): {1,4}+\d{1,6}+"
)
"""The name of a logger, and a line of its source in a column of four: `train_net:  302: Start`."""
_PARTS_OF_SOURCE = rb"[\w.<>/-]{0,80}?\.py {0,2}\| {0,2}[\w<>.]{1,60}+ {0,2}\| {0,2}\d{1,6}+ {0,2}"
"""A file, a function and a line between bars, which are no cells within brackets: `(a.py | main | 55)`."""
_BEFORE_CELLS = (
    rb"[A-Za-z]\w{0,40}+(?=:[ \t]{1,20}"
    rb"(?:\d{1,9}[ \t]{0,8}(?:/[ \t]{0,8}\d{1,9}[ \t]{0,8})?|[A-Za-z]\w{0,20}[ \t]{0,8})\|[^:=\n]{0,400}+$)"
)
"""The name of a function before the cells of a table, `train: 1 / 20 | 0.5`; not `Run: a | Loss: 0.5`."""
_PLACE = (
    rb"(?:"
    + _in_brackets(rb"(?:" + _SOURCE + rb"[^\[\]()\n=]{0,60}+|" + _DOTTED + rb")")
    + rb"|"
    + _in_brackets(rb"(?!" + _COUNTED + rb":)[\w.]{1,60}+:\d{1,6}+")
    + rb"|"
    + _in_brackets(_PARTS_OF_SOURCE)
    + rb"|"
    + _SOURCE
    + rb"|"
    + _NAME_AND_LINE
    + rb"|"
    + _DOTTED
    + rb"(?=:| [-|>]+ )|[A-Za-z_]\w{0,60}+(?= -   )|"  # as transformers prints it
    + _BEFORE_CELLS
    + rb")"
)
_BETWEEN = rb"[ \t]{0,16}+(?:[-|:,>]{1,2}+[ \t]{0,8}+)?+"
_NAME = rb"(?:\[[^\[\]\n]{1,60}+\]|\([^()\n]{1,60}+\)|<[^<>\n]{1,60}+>|\{[^{}\n]{1,60}+\}|[\w./@-]{1,80}+)"
"""Any part before a level: the name of a logger, a process, a host."""
_STATED_TIME = rb"(?:" + _TIME + rb"|" + _in_brackets(_TIME + _INSIDE) + rb")"
_LEVEL_AND_TIME = _LEVEL + rb" {0,4}+: {1,4}+" + _TIME + rb" {0,4}+"
"""Both in the same brackets: `[INFO: 10:00:01]`."""
_STATED_LEVEL = (
    rb"(?:"
    + _LEVEL
    + rb"|"
    + _in_brackets(_LEVEL + _INSIDE)
    + rb"|"
    + _in_brackets(_LEVEL_AND_TIME)
    + rb"|"
    + _in_brackets(_LOWER_LEVEL + rb" {0,4}+")
    + rb")"
)
_FIRST_LEVEL = (
    rb"(?:"
    + _LEVELS
    + rb"(?![\w/.-])|"
    + _in_brackets(_LEVEL + _INSIDE)
    + rb"|"
    + _in_brackets(_LEVEL_AND_TIME)
    + rb"|"
    + _in_brackets(_LOWER_LEVEL + rb" {0,4}+")
    + rb")"
)
"""A level at the beginning of a line, where `ERROR` may be the name of a number."""
_NAME_AND_MESSAGE = rb":(?!(?i:loss|acc|lr|epoch|step|iter)\w{0,12}:)[\w.-]{1,60}+:"
"""The name of a logger right behind a level, and what ends it: `INFO:root:`."""
_BEHIND_LEVEL = rb"(?:" + _BETWEEN + rb"(?:" + _STATED_TIME + rb"|" + _PLACE + rb")){0,3}+"
_ROW_OF_BARS = rb"(?![^\n]{0,400}\|[ \t\r]{0,8}$)"
_SIGN = rb"[ \t]{0,8}+(?:(?:>>|->|=>|[->])[ \t]|:[ \t]?|\|" + _ROW_OF_BARS + rb"[ \t])"
"""A sign before the message; other blanks behind it belong to that, and a vertical line to a row of cells."""
_END = rb"(?:" + _SIGN + rb"|(?<=[\])>])[ \t]?|[ \t]{1,5}+|(?=[ \t\r]{0,8}$))"
_END_OF_TIME = (
    rb"(?:[ \t]{0,8}+(?:>>|->|=>|[->])[ \t]|: |(?<= [AP]M) \|" + _ROW_OF_BARS + rb" |(?<=[\])>])[ \t]?"
    rb"| (?![ \t|]|-?\d[\d.]{0,20}+(?:[ \t](?!" + _COUNTED_BEHIND + rb"[,;:|]? )|$))|(?=[ \t\r]{0,8}$))"
)
"""What ends a time without a level: not where it may be a cell of a row, unlike in `10:00:01 3 epoch, `.

A time of twelve hours is none.
"""

_REST = rb"(?:" + _NAME_AND_MESSAGE + rb"|" + _BEHIND_LEVEL + _END + rb")"
LOGGER = (
    rb"(?:"
    + (rb"(?:" + _STATED_TIME + rb"|" + _MINUTE + rb"|" + _in_brackets(_MINUTE) + rb")")
    + (rb"(?:" + _BETWEEN + rb"(?!" + _STATED_LEVEL + rb")" + _NAME + rb"){0,4}+")
    + (_BETWEEN + _STATED_LEVEL + _REST)
    + (rb"|" + _MINUTE + rb" - |" + _in_brackets(_MINUTE) + rb"(?:[ \t]-)?[ \t]?")
    + (rb"|" + _STATED_TIME + rb"(?:" + _BETWEEN + _PLACE + _END + rb"|" + _END_OF_TIME + rb")")
    + (rb"|(?:" + _NAME + rb"[ \t]{0,8}+(?:[-|:][ \t]{0,8}+)?+)?" + _FIRST_LEVEL + _REST)
    + (rb"|\[?[IWED] \d{6} " + _CLOCK + rb" [^\n\]]{1,80}+\] ?")
    + (rb"|[IWEF]\d{4} " + _CLOCK + rb" {1,8}+\d{1,20}+ [^\n\]]{1,80}+\] ?")
    + (rb"|\[" + _SOURCE + rb"\][ \t]?)")
)
"""A pattern of what a logger prints before a message, in lines that begin with it."""
