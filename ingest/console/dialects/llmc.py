"""llm.c: its console, and main.log (`s:0 tel:11.0092`, `s:0 trl:11.0091 lr:0.000001 norm:15.37`)."""

from __future__ import annotations

import re

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineSettings, LineValues
from holter.ingest.console.dialects.arguments import as_printed
from holter.ingest.console.text.values import parse_number, parse_numbers

_MAIN = re.compile(r"s:(\d+) ((?:[a-z]++:\S++\s*+)++)")
_ROW = re.compile(r"\| ([a-zA-Z][\w ]{0,20}?)(?: [A-Z][A-Zp]?)? +\| (.{1,300}?) *\|$")
_CONFIG_NAMES = {"device": "gpu.name", "num_processes": "world_size"}
_STEP = re.compile(
    r"step\s+(?P<step>\d+)/\d+ \| loss (?P<loss>\S+) \([^)]{0,100}\)\| norm (?P<norm>\S+) \([^)]{0,100}\)"
    r"\| lr (?P<lr>\S+) \| (?P<time>[\d.]+) ms \| (?:(?P<mfu>-?[\d.]+)% \w+ MFU \| )?(?P<speed>[\d.]+) tok/s"
)
_VALIDATION = re.compile(r"^val loss (\S+)")
_NAMES = {"trl": "train/loss", "tel": "val/loss", "norm": "grad_norm", "eval": "eval/accuracy"}
_UNKNOWN_MFU = -100.0


def _main(line: str, state: DialectState) -> LineValues | None:
    """A line of main.log, whose steps count from 0."""
    match = _MAIN.match(line)
    if match is None:
        return None
    pairs = (pair.partition(":")[::2] for pair in match[2].split())
    return LineValues(int(match[1]), parse_numbers((_NAMES.get(name, name), text) for name, text in pairs))


def _console(line: str, state: DialectState) -> LineValues | None:
    """A line of the console, whose steps count from 1. MFU is of one GPU, tok/s of all."""
    match = _STEP.search(line)
    if match is None:
        return None
    state["step"] = step = int(match["step"])
    texts = {
        "train/loss": match["loss"],
        "grad_norm": match["norm"],
        "lr": match["lr"],
        "step_time (ms)": match["time"],
        "tok/s": match["speed"],
    }
    values = parse_numbers(texts.items())
    mfu = parse_number(match["mfu"]) if match["mfu"] else None
    return LineValues(step, values if mfu in (None, _UNKNOWN_MFU) else values | {"mfu(%)": float(mfu or 0.0)})


def _validation(line: str, state: DialectState) -> LineValues | None:
    match = _VALIDATION.match(line)
    value = parse_number(match[1]) if match else None
    return None if value is None else LineValues(int(state.get("step", 0)), {"val/loss": value})


def _row(line: str, state: DialectState) -> LineSettings | None:
    """`| num_layers L          | 12          |` in the table before the first step, without symbols."""
    match = _ROW.match(line)
    if match is None or match[1] == "Parameter":
        return None
    name = match[1].replace(" ", "_")
    return LineSettings({_CONFIG_NAMES.get(name, name): as_printed(match[2])})


DIALECT = ConsoleDialect(
    name="llm.c",
    signature=re.compile(
        rb"(?m)^s:\d+ (?:tel|trl):[\d.]|step[ \t]+\d+/\d+ \| loss \S{1,40} \([^)\n]{0,100}\)\| norm "
    ),
    kinds=(
        LineKind(pattern=re.compile(rb"(?m)^s:\d+ "), parse=_main),
        LineKind(pattern=re.compile(rb"step[ \t]+\d+/\d+ \| loss "), parse=_console),
        LineKind(pattern=re.compile(rb"(?m)^val loss "), parse=_validation),
        LineKind(pattern=re.compile(rb"\| [\w ]{21} \| "), parse=_row, yields_settings=True),
    ),
)
