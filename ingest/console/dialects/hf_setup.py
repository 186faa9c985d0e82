"""Settings that Hugging Face's libraries print at a launch: the model's config as JSON, batch, steps."""

from __future__ import annotations

import json
import re

from holter.attempts.config_values import flatten_settings
from holter.ingest.console.dialect import DialectState, LineKind, LineSettings
from holter.ingest.console.dialects.arguments import as_printed

_PAIR = re.compile(r'^  "([^"]{1,120})": (.{1,300}?),?$')
_COUNT = re.compile(r"  ([A-Z][\w ]{3,60}?(?: \([^)]{1,80}\))?) = ([\d,]{1,30})\b")
_OVERRIDE = re.compile(r"(\w{1,80})=([^,\s]{1,80})")
_NAMES = {
    "Num examples": "num_examples",
    "Num Epochs": "num_train_epochs",
    "Instantaneous batch size per device": "per_device_train_batch_size",
    "Total train batch size (w. parallel, distributed & accumulation)": "global_batch_size",
    "Gradient Accumulation steps": "gradient_accumulation_steps",
    "Total optimization steps": "max_steps",
    "Number of trainable parameters": "num_trainable_parameters",
}


def _begins(line: str, state: DialectState) -> None:
    """`Model config LlamaConfig {`, followed by a line per pair; other configs are not those of models."""
    state["config"] = "Model config " in line


def _pair(line: str, state: DialectState) -> LineSettings | None:
    """`  "hidden_size": 4096,`; lists and objects over several lines are left out."""
    match = _PAIR.match(line.rstrip()) if state.get("config") else None
    if match is None or match[1] in state.get("overridden", ()):
        return None
    try:
        value = json.loads(match[2])
    except (ValueError, RecursionError):
        return None
    return None if value is None else LineSettings(flatten_settings({match[1]: value}))


def _overridden(line: str, state: DialectState) -> LineSettings:
    """`Overriding config: n_embd=7168,n_head=32`: a config that is printed later still has the old values."""
    pairs = _OVERRIDE.findall(line.partition("verriding config: ")[2])
    state["overridden"] = [name for name, _ in pairs]
    words = {"true": True, "false": False}
    return LineSettings({name: words.get(text.lower(), as_printed(text)) for name, text in pairs})


def _runs(line: str, state: DialectState) -> None:
    """`***** Running training *****`: an evaluation has counts of its own."""
    state["training"] = "Running training" in line


def _count(line: str, state: DialectState) -> LineSettings | None:
    """`  Total train batch size (w. parallel, distributed & accumulation) = 64`."""
    match = _COUNT.search(line) if state.get("training") else None
    if match is None or match[1] not in _NAMES:
        return None
    return LineSettings({_NAMES[match[1]]: int(match[2].replace(",", ""))})


KINDS = (
    LineKind(pattern=re.compile(rb" config \w+ \{"), parse=_begins, yields_settings=True),
    LineKind(pattern=re.compile(rb'  "\w+": '), parse=_pair, yields_settings=True),
    LineKind(pattern=re.compile(rb"verriding config: "), parse=_overridden, yields_settings=True),
    LineKind(pattern=re.compile(rb"\*\*\*\*\* Running "), parse=_runs, yields_settings=True),
    LineKind(
        pattern=re.compile(rb"  [NITG][a-z]+ [\w ,&.()]{4,80} = \d"), parse=_count, yields_settings=True
    ),
)
