"""Data in brackets behind the numbers that are of it: `loss 0.5 (train), 0.4 (dev)`."""

from __future__ import annotations

import re

from holter.ingest.console.line.line_tokens import split_numbers
from holter.ingest.console.line.line_words import ALL_DATA
from holter.ingest.console.line.number_names import counts, name_before
from holter.ingest.metric_names import is_metric_name

_VALUE = re.compile(
    r"(?<![\w.])(?P<value>[-+]?(?:\d{1,12}(?:\.\d{0,20})?(?:[eE][-+]?\d{1,3})?|nan|inf))"
    rf"(?P<unit>%?) {{0,2}}\((?P<data>(?i:{ALL_DATA}))\)(?! {{0,2}}[:=])"
)
"""A number and its data; a sign behind the data makes them the name of the next number."""
_DATA = re.compile(rf" \((?i:{ALL_DATA})\)")
"""Data in brackets, which few lines have."""
_BETWEEN = re.compile(r"[ ,;/|&]{1,8}")
"""What may be between two values of the same metric."""
_NUMBER_BEHIND = re.compile(r"[\s,;/|&]{0,8}[-+]?\d")
"""What is behind the last brackets where data are before their numbers: `loss 0.5 (val) 0.4 (test) 0.3`."""


def with_data_ahead(line: str) -> str:
    """The line with the data of each value before its name, if the line has values of different data."""
    if " (" not in line or _DATA.search(line) is None:
        return line
    found = [*_VALUE.finditer(line)]
    if len({match["data"].lower() for match in found}) < 2 or _NUMBER_BEHIND.match(line, found[-1].end()):
        return line
    parts, last, name = [], 0, ""
    for match in found:
        before = line[last : match.start()]
        text = split_numbers(before)[-1]
        if name and _BETWEEN.fullmatch(before) is not None:
            before = f"{before}{name}: "
        elif not (name := name_before(text).name) or not _may_be_of_data(name):
            return line
        if (at := before.rfind(name)) < 0:  # it is in other words there
            return line
        parts.append(f"{before[:at]}{match['data']} {before[at:]}{match['value']}{match['unit']}")
        last = match.end()
    return "".join((*parts, line[last:]))


def _may_be_of_data(name: str) -> bool:
    """Whether a name is that of a metric that names no data itself."""
    return is_metric_name(name) and not counts(name) and "(" not in name
