"""Dumps of arguments as Megatron-LM and its descendants print them before anything else."""

from __future__ import annotations

import re

from holter.ingest.console.dialect import DialectState, LineKind, LineSettings
from holter.types import ConfigValue

_EDGE = re.compile(r"-{8,} (end of )?(?:[\w-]+ )?arguments -{8,}")
_ARGUMENT = re.compile(r"^  ([A-Za-z_][\w.-]*) (?:\.{2,} | )(.*)$")
_SOURCE = re.compile(r"(\.*)(?:updated|default)$")
_INTEGER = re.compile(r"[+-]?\d{1,18}")
_FLOAT = re.compile(r"[+-]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?")
_WORLD = re.compile(r"using world size: (\d{1,9})\b")
_PADDED = re.compile(r"padded vocab \(size: \d+\).*\(new size: (\d{1,12})\)")


def as_printed(text: str) -> ConfigValue:
    """A value as Python printed it: a truth, a number, or else the text."""
    text = text.strip()
    if text in ("True", "False"):
        return text == "True"
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def _edge(line: str, memory: DialectState) -> None:
    """`-------------------- arguments --------------------`, and the end of them."""
    if (found := _EDGE.search(line)) is not None:
        memory.pop("arguments", None)
        if found[1] is None:
            memory["arguments"] = "plain"


def _argument(line: str, memory: DialectState) -> LineSettings | None:
    """`  num_layers .................. 24`, of GPT-NeoX with `......updated` or `......default` behind."""
    found = _ARGUMENT.match(line) if "arguments" in memory else None
    if found is None:
        return None
    text = found[2].rstrip()
    source = _SOURCE.search(text)
    if source is not None and len(source[1]) >= 3:
        memory["arguments"] = "marked"
    if source is not None and memory["arguments"] == "marked":  # what is long has no dots behind it
        text = text[: source.start()]
    return LineSettings({found[1]: as_printed(text)})


def _world(line: str, memory: DialectState) -> LineSettings | None:
    """`using world size: 64, data-parallel-size: 8, …`."""
    found = _WORLD.search(line)
    return LineSettings({"world_size": int(found[1])}) if found else None


def _padded(line: str, memory: DialectState) -> LineSettings | None:
    """` > padded vocab (size: 50257) with 431 dummy tokens (new size: 50688)`, which the dump cannot know."""
    found = _PADDED.search(line)
    return LineSettings({"padded_vocab_size": int(found[1])}) if found else None


KINDS = (
    LineKind(mark=re.compile(rb"-------- (?:end of )?(?:[\w-]+ )?arguments -"), read=_edge, states=True),
    LineKind(mark=re.compile(rb"  [A-Za-z_][\w.-]* \.\.+ "), read=_argument, states=True),
    LineKind(mark=re.compile(rb"  [A-Za-z]\w{31,}  "), read=_argument, states=True),
    LineKind(mark=re.compile(rb"using world size: \d"), read=_world, states=True),
    LineKind(mark=re.compile(rb"padded vocab \(size: "), read=_padded, states=True),
)
