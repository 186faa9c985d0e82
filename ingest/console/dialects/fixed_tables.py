"""Tables of libraries that print the same columns always, and which are no columns of names and numbers.

The heading has two lines (Vowpal Wabbit, CNTK), names of several words between single blanks (pycma) or lists
below its names (DeepXDE).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineResult, LineValues
from holter.ingest.console.headings.training_sections import enter_section, section_labels
from holter.ingest.console.line.line_counters import Counter
from holter.ingest.console.plain.plain_line import axis_state
from holter.ingest.console.text.values import parse_numbers

_PROGRESS = re.compile(
    r"[ \t]*(?P<average>[-+.\w]{1,30}) +(?P<since>[-+.\w]{1,30}) +(?P<step>\d{1,15}) +[\d.]{1,30} +\S{1,80}"
    r"(?: +\S{1,80}){1,4} +(?P<features>\d{1,12})(?: h)?[ \t\r]*"
)
_EXAMPLES = re.compile(
    r" *(?P<loss>[-+.\w]{1,30}) +(?P<loss_since>[-+.\w]{1,30}) +(?P<metric>[-+.\w]{1,30})"
    r" +(?P<metric_since>[-+.\w]{1,30}) +(?P<step>\d{1,15})\s*"
)
_GENERATION = re.compile(
    r" *(?P<step>\d{1,15}) +(?P<evaluations>\d{1,15}) +(?P<value>[-+.\w]{1,40}) +(?P<ratio>[-+.\w]{1,30})"
    r" +(?P<sigma>[-+.\w]{1,30}) +(?P<least>[-+.\w]{1,30}) +(?P<most>[-+.\w]{1,30}) +[\d:.]{1,30}\s*"
)
_LIST = r"\[[^\][\n]{0,4000}\]|[-+.\w]{1,40}"
_LISTS = re.compile(rf"(?P<step>\d{{1,15}}) +(?P<train>{_LIST}) +(?P<test>{_LIST}) +(?P<metric>{_LIST})\s*")
_NUMBER = re.compile(r"[^\s,\][]{1,40}")


_Match = Callable[[str], re.Match[str] | None]


def _columns(match_row: _Match, names: dict[str, str]) -> Callable[[str, DialectState], LineResult]:
    """Reads rows that a pattern matches as a whole; `names` are those of the metrics in its groups."""

    def parse(line: str, state: DialectState) -> LineValues | None:
        match = match_row(line)
        return None if match is None else _row(match, [(names[key], match[key]) for key in names], state)

    return parse


def _lists(line: str, state: DialectState) -> LineValues | None:
    """`1000   [1.45e+00, 7.95e-01]   [1.48e+00, 7.54e-01]   []`: the losses of each part of an equation."""
    match = _LISTS.fullmatch(line)
    if match is None:
        return None
    lists = {"Train loss": match["train"], "Test loss": match["test"], "Test metric": match["metric"]}
    cells = [
        (name if number == 1 else f"{name} {number}", cell)
        for name, text in lists.items()
        for number, cell in enumerate(_NUMBER.findall(text), 1)
    ]
    return _row(match, cells, state)


def _row(match: re.Match[str], cells: list[tuple[str, str]], state: DialectState) -> LineValues | None:
    """The numbers of a row at its step."""
    values = parse_numbers(cells)
    if not values:
        return None
    axis, step = axis_state(state), int(match["step"])
    enter_section({Counter.STEP: (step, 0)}, axis)
    axis["step"] = step
    return LineValues(step, values, labels=section_labels(axis, values))


_progress = _columns(
    _PROGRESS.fullmatch, {"average": "average loss", "since": "since last", "features": "current features"}
)
"""`1.021294 1.012328   4   4.0   1.0000   0.5000   51`: the average loss, and that since the last row."""
_examples = _columns(
    _EXAMPLES.fullmatch,
    {
        "loss": "average loss",
        "loss_since": "loss since last",
        "metric": "average metric",
        "metric_since": "metric since last",
    },
)
"""` 2.3   2.3   0.9   0.9   64`: averages, and those since the last row, in front of the examples."""
_generation = _columns(
    _GENERATION.fullmatch,
    {
        "value": "function value",
        "ratio": "axis ratio",
        "sigma": "sigma",
        "least": "min std",
        "most": "max std",
        "evaluations": "Fevals",
    },
)
"""`100   1100 5.27e+02 2.0e+00 5.04e-01  7e-02  7e-02 0:01.0`: the value of an iteration."""
_HEADINGS = rb"|".join(
    (
        rb"^loss {1,12}last {1,12}counter {1,12}weight {1,12}label {1,12}predict {1,12}features",
        rb"^ {1,4}average {1,8}since {1,8}average {1,8}since {1,8}examples",
        rb"^Iterat {1,4}#Fevals {1,4}function value {1,4}axis ratio {1,4}sigma ",
        rb"^Step {1,40}Train loss {1,80}Test loss {1,80}Test metric",
    )
)
_NUMBERS = rb"[-+]?\d{1,12}\.\d{1,20}(?:e[-+]\d\d)?"
_EXAMPLE = rb"[-+]?\d{1,12}(?:\.\d{0,20})?(?:e[-+]\d\d)?"
DIALECT = ConsoleDialect(
    name="fixed-tables",
    signature=re.compile(rb"(?m)" + _HEADINGS),
    kinds=(
        LineKind(
            pattern=re.compile(
                rb"(?m)^[ \t]{0,8}(?:%s|n\.a\.) {1,8}%s {1,12}\d{1,15} {1,16}[\d.]{1,30} " % ((_NUMBERS,) * 2)
            ),
            parse=_progress,
        ),
        LineKind(
            pattern=re.compile(
                rb"(?m)^ {0,8}\d{1,15} {1,8}\d{1,15} %s %s %s {1,2}[-+\de.]" % ((_NUMBERS,) * 3)
            ),
            parse=_generation,
        ),
        LineKind(
            pattern=re.compile(rb"(?m)^ {1,12}(?:%s {1,12}){4}\d{1,15}[ \t\r]{0,8}$" % _EXAMPLE),
            parse=_examples,
        ),
        LineKind(pattern=re.compile(rb"(?m)^\d{1,15} {1,12}\["), parse=_lists),
    ),
)
