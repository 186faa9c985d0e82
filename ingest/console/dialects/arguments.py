"""Dumps of arguments, which Megatron-LM and its descendants print before anything else."""

from __future__ import annotations

import re

from holter.ingest.console.dialect import DialectState, LineKind, LineSettings
from holter.types import ConfigValue

_EDGE = re.compile(r"(?<!-)-{8,}+ (end of )?(?:[\w-]+ )?arguments -{8}")
_ARGUMENT = re.compile(r"^  ([A-Za-z_][\w.-]*) (?:\.{2,} | )(.*)$")
_SOURCE = re.compile(r"(?<!\.)(\.*+)(?:updated|default)$")
_INTEGER = re.compile(r"[+-]?\d{1,18}")
_FLOAT = re.compile(r"[+-]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?")
_WORLD = re.compile(r"using world size: (\d{1,9})\b")
_PADDED = re.compile(r"padded vocab \(size: \d+\).{0,200}\(new size: (\d{1,12})\)")


def as_printed(text: str) -> ConfigValue:
    """A value as Python printed it: a boolean or a number if it is one, else the text."""
    text = text.strip()
    if text in ("True", "False"):
        return text == "True"
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def _edge(line: str, state: DialectState) -> None:
    """`-------------------- arguments --------------------`, and the line after the last argument."""
    if (match := _EDGE.search(line)) is not None:
        state.pop("arguments", None)
        if match[1] is None:
            state["arguments"] = "plain"


def _argument(line: str, state: DialectState) -> LineSettings | None:
    """`  num_layers .................. 24`, in GPT-NeoX with `......updated` or `......default` after it."""
    match = _ARGUMENT.match(line) if "arguments" in state else None
    if match is None:
        return None
    text = match[2].rstrip()
    source = _SOURCE.search(text)
    if source is not None and len(source[1]) >= 3:
        state["arguments"] = "marked"
    if source is not None and state["arguments"] == "marked":  # a long value has no dots after it
        text = text[: source.start()]
    return LineSettings({match[1]: as_printed(text)})


def _world(line: str, state: DialectState) -> LineSettings | None:
    """`using world size: 64, data-parallel-size: 8, …`."""
    match = _WORLD.search(line)
    return LineSettings({"world_size": int(match[1])}) if match else None


def _padded(line: str, state: DialectState) -> LineSettings | None:
    """` > padded vocab (size: 50257) with 431 dummy tokens (new size: 50688)`, printed after the dump."""
    match = _PADDED.search(line)
    return LineSettings({"padded_vocab_size": int(match[1])}) if match else None


KINDS = (
    LineKind(
        pattern=re.compile(rb"-------- (?:end of )?(?:[\w-]+ )?arguments -"),
        parse=_edge,
        yields_settings=True,
    ),
    LineKind(pattern=re.compile(rb"  [A-Za-z_][\w.-]* \.\.+ "), parse=_argument, yields_settings=True),
    LineKind(pattern=re.compile(rb"  [A-Za-z]\w{31,}  "), parse=_argument, yields_settings=True),
    LineKind(pattern=re.compile(rb"using world size: \d"), parse=_world, yields_settings=True),
    LineKind(pattern=re.compile(rb"padded vocab \(size: "), parse=_padded, yields_settings=True),
)
