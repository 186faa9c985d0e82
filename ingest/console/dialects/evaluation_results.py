"""Results of an evaluation below `***** Eval results *****`, in the order of their names.

The step is among them (`global_step = 500`): results before it wait for it, those behind it follow. Where
none states it, they are at that of the heading, which may name what was evaluated: `Eval results sst-2`.
"""

from __future__ import annotations

import re

from holter.ingest.console.dialect import DialectState, LineKind, LineResult, LineValues
from holter.ingest.console.line.cached_shapes import shape_of_line
from holter.ingest.console.line.evaluation_names import metric_name
from holter.ingest.console.line.line_settings import is_setting
from holter.ingest.console.line.line_tokens import split_numbers
from holter.ingest.console.line.line_words import DATA_SPLIT
from holter.ingest.console.plain.result_blocks import parse_metric, parse_result
from holter.ingest.console.search.pattern_search import LinearPattern
from holter.ingest.console.steps.positions import position
from holter.ingest.console.text.values import parse_number, parse_time
from holter.ingest.metric_names import is_metric_name

_HEADING = re.compile(
    r"\*{5} ?(?P<data>[A-Za-z]+) results ?(?:(?:checkpoint-)?(?P<step>\d{1,15})"
    r"|(?:(?:on|for|of) )?(?P<subject>[A-Za-z][\w.-]{0,40}))? ?:? ?\*{5}"
)
_RESULT = re.compile(r"(?:^|[\s>:-])(?P<name>[A-Za-z][\w@/.-]{0,60}) = (?P<value>[-+]?[\w.+-]{1,40})\s*$")
_STEP = re.compile(r"[^=\n]{0,120}?\b(?:global_)?step = \d{1,15}\s*")
_MOST_RESULTS = 100


def _begin(line: str, state: DialectState) -> LineResult:
    """Note the data of the results below; yield those above that found no step."""
    match = _HEADING.search(line)
    if match is None:
        return None
    left = _release(state)
    found = DATA_SPLIT.fullmatch(match["data"])
    data = match["data"].lower() if found is not None and found[2] else ""
    state["results"] = {
        "data": f"{data}/{match['subject']}".lstrip("/") if match["subject"] else data,
        "step": int(match["step"]) if match["step"] else None,
        "at": position(state.get("plain lines", {})),
        "values": {},
        "names": [],
    }
    return left


def add_result(line: str, state: DialectState) -> LineResult:
    """A result at the step of its evaluation, for which it may wait; elsewhere one of a block."""
    match, results = _RESULT.search(line), state.get("results")
    if match is None:
        return None
    name, value = match["name"], parse_number(match["value"])
    if results is None or name in results["names"] or len(results["names"]) >= _MOST_RESULTS:
        left = _release(state)
        names = [name, *(field.name for field in shape_of_line(split_numbers(line)).metrics)]
        is_metric = any(is_metric_name(each) and not is_setting(each) for each in names)
        found = (parse_metric if is_metric else parse_result)(line, state)
        return [*left, *(found if isinstance(found, list) else [found] if found is not None else [])]
    if value is None:
        return None
    results["names"].append(name)
    if name in ("global_step", "step") and value.is_integer():
        results["step"] = int(value)
    else:
        results["values"][metric_name(name, results["data"])] = value
    return None if results["step"] is None else _results(results, results["step"], line)


def is_step_of_results(line: str, state: DialectState) -> bool:
    """Whether a line is the step of the results above it, and no position of the training."""
    results = state.get("results")
    return results is not None and results["step"] is None and _STEP.fullmatch(line) is not None


def _results(results: dict[str, object], step: int, line: str = "") -> LineValues | None:
    values, results["values"] = results["values"], {}
    return LineValues(step, values, parse_time(line)) if isinstance(values, dict) and values else None


def _release(state: DialectState) -> list[LineValues]:
    """The results whose step nothing states: at that of the training above their heading."""
    results, last = state.pop("results", None), state.get("plain lines", {}).get("step")
    if results is None or last is None:
        return []
    at = results.get("at")
    found = _results(results, int(last if at is None else at))
    return [found._replace(is_late=found.step < last)] if found is not None else []


EVALUATION_RESULTS = (
    LineKind(
        pattern=LinearPattern(
            rb"\*{5} ?(?:[Ee]val|[Dd]ev|[Tt]est|[Vv]alid)\w{0,10} results"
            rb"(?: (?:on |for |of )?[\w.-]{1,60})? ?:? ?\*{5}"
        ),
        parse=_begin,
        any_program=True,
        release=_release,
    ),
    LineKind(
        pattern=LinearPattern(
            rb"(?m)(?:^|[ \t>:-])[A-Za-z][\w@/.-]{0,60} = [-+]?[\d.][\w.+-]{0,40}[ \t\r]*$"
        ),
        parse=add_result,
        any_program=True,
        in_blocks=True,
    ),
)
"""Headings of results, and the lines below them."""
