"""Caffe's solver: the loss and the rate of an iteration, and the outputs of its nets below them.

So is what layers and programs with a solver print of it themselves.
"""

from __future__ import annotations

import re

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.dialects.voc_results import VOC_RESULTS
from holter.ingest.console.text.values import parse_number
from holter.ingest.metric_names import is_metric_name

_ITERATION = re.compile(
    r"Iteration (?P<step>\d{1,15})(?: \([^)]{0,80}\))?, "
    r"(?:(?P<name>loss|lr) = (?P<value>\S{1,40})|Testing net \(#(?P<net>\d{1,4})\))"
)
_OUTPUT = re.compile(r"(?P<data>Train|Test) net output #\d{1,6}: (?P<name>\S{1,120}) = (?P<value>\S{1,40})")

_PROCESS = re.compile(r"[IWEF]\d{4} [\d:.]{5,20} {1,8}(?P<id>\d{1,9}) ")
"""How glog begins a line: with the number of the thread, of which the solver has one."""
_MOST_PROCESSES = 16
_MOST_ABOVE = 64
"""Outputs of nets above the first iteration of a process."""
_LEAST_OF_PROCESS = 2
"""Iterations that a process prints before the next one begins; those that run at once print in turn."""

_NAME = r"[A-Za-z][\w.@-]{0,40}"
_OTHER = re.compile(r"\.c(?:pp|c|u):\d{1,5}\] {1,4}")
_PAIR = re.compile(
    rf"({_NAME}(?: {_NAME}){{0,2}})(?: ?\(\d{{1,9}}\))?(?: ?= ?|: {{0,4}})"
    r"(-?\d[\w.+-]{0,30})(?:[,;|]?\s{1,4}|$)"
)


def _iteration(line: str, state: DialectState) -> LineValues | None:
    """`Iteration 500 (3.2 iter/s, 156s/500 iters), loss = 8.9`, `Iteration 500, Testing net (#0)`."""
    match = _ITERATION.search(line)
    if match is None:
        return None
    begins = _is_of_next_process(line, int(match["step"]), state)
    state["iteration"], state["net"] = int(match["step"]), match["net"] or "0"
    state["tests"] = bool(match["net"])
    value = parse_number(match["value"]) if match["value"] else None
    above = state.pop("above", {})
    if value is None:
        state["begins"] = begins
        return None
    values = {match["name"]: value, **(above if match["name"] == "lr" else {})}
    return LineValues(state["iteration"], values, begins=begins)


def _is_of_next_process(line: str, step: int, state: DialectState) -> bool:
    """Whether a process printed an iteration that printed none before, behind several of another one."""
    match = _PROCESS.match(line)
    begins = bool(state.pop("begins", False))
    if match is None:
        return begins
    number, known = int(match["id"]), state.get("processes", [])
    if number not in known:
        begins |= bool(known) and state["printed"] >= _LEAST_OF_PROCESS
        state["processes"] = [*known, number][-_MOST_PROCESSES:]
    if number != state.get("process"):
        state["process"], state["printed"] = number, 1
    elif step != state["iteration"]:
        state["printed"] += 1
    return begins


def _output(line: str, state: DialectState) -> LineValues | None:
    """`Test net output #1: accuracy = 0.91`: of the net that the iteration above trains or tests."""
    match = _OUTPUT.search(line)
    value = parse_number(match["value"]) if match else None
    if match is None or value is None or "iteration" not in state:
        return None
    if _is_of_another_process(line, state):  # a part of a text: the rate of this iteration is below
        if len(above := state.setdefault("above", {})) < _MOST_ABOVE:
            above[f"{match['data'].lower()}/{match['name']}"] = value
        return None
    data, state["tests"] = match["data"].lower(), False
    if data == "test" and state["net"] != "0":
        data = f"test {state['net']}"
    return LineValues(int(state["iteration"]), {f"{data}/{match['name']}": value})


def _is_of_another_process(line: str, state: DialectState) -> bool:
    """Whether another process printed a line than the iteration above it, which is not that of the line."""
    match = _PROCESS.match(line)
    return match is not None and "process" in state and int(match["id"]) != state["process"]


def _of_a_layer(line: str, state: DialectState) -> LineValues | None:
    """`iou_layer.cpp:53] iou: 0.66 recall: 0.74`, `main.cpp:17] score(29): 3`: at the iteration above.

    Nothing but names with numbers, one of which is that of a metric.
    """
    start = _OTHER.search(line)
    if start is None or "iteration" not in state:
        return None
    values: dict[str, float] = {}
    position, end = start.end(), len(line.rstrip())
    while position < end:
        pair = _PAIR.match(line, position)
        value = parse_number(pair[2]) if pair else None
        if pair is None or value is None:
            return None
        values[pair[1]] = value
        position = pair.end()
    if not any(map(is_metric_name, values)):
        return None
    if state.get("tests"):
        values = {f"test/{name}": value for name, value in values.items()}
    return LineValues(int(state["iteration"]), values)


DIALECT = ConsoleDialect(
    name="caffe",
    signature=re.compile(
        rb"solver\.cpp:\d{1,5}\] {1,4}(?:Iteration \d|Train net output #\d|Test net output #\d)"
    ),
    kinds=(
        LineKind(
            pattern=re.compile(
                rb"Iteration \d{1,15}(?: \([^)\n]{0,80}\))?, (?:loss = |lr = |Testing net \(#)"
            ),
            parse=_iteration,
        ),
        LineKind(pattern=re.compile(rb"(?:Train|Test) net output #\d{1,6}: "), parse=_output),
        LineKind(
            pattern=re.compile(
                rb"(?<!/caffe)(?<!solver)(?<! caffe)(?<! net)\.c(?:pp|c|u):\d{1,5}\] {1,4}"
                rb"[A-Za-z][\w .@-]{0,80}(?:\(\d{1,9}\))?(?: ?= ?|: {0,4})-?\d"
            ),
            parse=_of_a_layer,
        ),
        VOC_RESULTS,
    ),
)
