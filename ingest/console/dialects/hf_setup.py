"""What Hugging Face's libraries print of a launch: the model's config as JSON, batch, steps."""

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


def _begins(line: str, memory: DialectState) -> None:
    """`Model config LlamaConfig {`, whose pairs follow, a line each; other configs are no model's."""
    memory["config"] = "Model config " in line


def _pair(line: str, memory: DialectState) -> LineSettings | None:
    """`  "hidden_size": 4096,`; what is a list or an object over several lines is left out."""
    found = _PAIR.match(line.rstrip()) if memory.get("config") else None
    if found is None or found[1] in memory.get("overridden", ()):
        return None
    try:
        value = json.loads(found[2])
    except ValueError:
        return None
    return None if value is None else LineSettings(flatten_settings({found[1]: value}))


def _overridden(line: str, memory: DialectState) -> LineSettings:
    """`Overriding config: n_embd=7168,n_head=32`: a config that is printed yet is the one before that."""
    pairs = _OVERRIDE.findall(line.partition("verriding config: ")[2])
    memory["overridden"] = [name for name, _ in pairs]
    words = {"true": True, "false": False}
    return LineSettings({name: words.get(text.lower(), as_printed(text)) for name, text in pairs})


def _runs(line: str, memory: DialectState) -> None:
    """`***** Running training *****`: an evaluation counts examples of its own."""
    memory["training"] = "Running training" in line


def _count(line: str, memory: DialectState) -> LineSettings | None:
    """`  Total train batch size (w. parallel, distributed & accumulation) = 64`."""
    found = _COUNT.search(line) if memory.get("training") else None
    if found is None or found[1] not in _NAMES:
        return None
    return LineSettings({_NAMES[found[1]]: int(found[2].replace(",", ""))})


KINDS = (
    LineKind(mark=re.compile(rb" config \w+ \{"), read=_begins, states=True),
    LineKind(mark=re.compile(rb'  "\w+": '), read=_pair, states=True),
    LineKind(mark=re.compile(rb"verriding config: "), read=_overridden, states=True),
    LineKind(mark=re.compile(rb"\*\*\*\*\* Running "), read=_runs, states=True),
    LineKind(mark=re.compile(rb"  [NITG][a-z]+ [\w ,&.()]{4,80} = \d"), read=_count, states=True),
)
