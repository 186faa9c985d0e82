"""torchtitan: `step: 4  loss: 7.62585  grad_norm: 26.6250  memory: 66.91GiB(37.51%)  tps: 10,050 …`."""

from __future__ import annotations

import re

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.dialects import torchtitan_setup
from holter.ingest.console.text.values import parse_number, parse_time

_STEP = re.compile(r"\b(?P<validate>validate )?step:\s*(?P<step>\d+)\s{2}")
_PAIR = re.compile(r"\b([a-z_]+):\s*([-+\w.,%]+)(?:\(([\d.]+)%\))?")
# the names of torchtitan's own TensorBoard writer, so that both logs have the same series
_NAMES = {
    "loss": "loss_metrics/global_avg_loss",
    "tps": "throughput(tps)",
    "mfu": "mfu(%)",
}


def _step(line: str, state: DialectState) -> LineValues | None:
    """One line per logged step and rank; tps and tflops are per device, means over the interval."""
    match = _STEP.search(line)
    if match is None:
        return None
    prefix = "validation_metrics/" if match["validate"] else ""
    values: dict[str, float] = {}
    for name, text, share in _PAIR.findall(line, match.end()):
        if name == "memory":
            values |= _memory(text, share)
        elif (value := parse_number(text)) is not None:
            values[prefix + name if prefix else _NAMES.get(name, name)] = value
    return LineValues(int(match["step"]), values, parse_time(line[: match.start()]))


def _memory(text: str, share: str) -> dict[str, float]:
    size = parse_number(text.removesuffix("GiB"))
    match = {} if size is None else {"memory/max_reserved(GiB)": size}
    return match | ({"memory/max_reserved(%)": float(share)} if share else {})


DIALECT = ConsoleDialect(
    name="torchtitan",
    signature=re.compile(rb"\[titan\][^\n]{0,400}?step:[ \t]*(?:\x1b\[[0-9;]{0,16}m[ \t]*)?\d+"),
    kinds=(
        LineKind(pattern=re.compile(rb"step:[ \t]*(?:\x1b\[[0-9;]{0,16}m[ \t]*)?\d+\s"), parse=_step),
        *torchtitan_setup.KINDS,
    ),
)
