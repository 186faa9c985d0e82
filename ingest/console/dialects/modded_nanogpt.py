"""modded-nanogpt: `step:6200/6200 val_loss:3.2785 train_time:1339067ms step_avg:216.33ms`."""

from __future__ import annotations

import re

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.text.values import parse_number

_STEP = re.compile(r"step:(\d+)/\d+ ((?:\w++:\S++\s*+)++)")


def _step(line: str, state: DialectState) -> LineValues | None:
    """`train_time` is the total time without validation: its increase is the time of the steps."""
    match = _STEP.search(line)
    if match is None:
        return None
    step, values = int(match[1]), {}
    for pair in match[2].split():
        name, _, text = pair.partition(":")
        value = parse_number(text.removesuffix("ms"))
        # step_avg is the mean since the start, in which changes do not show
        if value is not None and name != "step_avg":
            values[f"{name} (ms)" if text.endswith("ms") else name] = value
    passed = values.get("train_time (ms)")
    if passed is not None:
        before_step, before = state.get("passed", (step, passed))
        if step > before_step and passed >= before:  # it starts over after the warm-up
            values["step_time (ms)"] = (passed - before) / (step - before_step)
        state["passed"] = [step, passed]
    return LineValues(step, values)


DIALECT = ConsoleDialect(
    name="modded-nanogpt",
    # the log begins with the script itself, in which the step is a name in braces and no digits
    signature=re.compile(rb"step:\d+/\d+ (?:\w+_loss:[\d.]+ )?train_time:\d+ms"),
    kinds=(LineKind(pattern=re.compile(rb"step:\d+/\d+ \w+:"), parse=_step),),
)
