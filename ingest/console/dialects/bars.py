"""Progress bars with numbers behind them: tqdm's, Lightning's, torchtune's, Keras'."""

from __future__ import annotations

import re

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.values import parse_numbers

_BAR = re.compile(
    r"(?:\bepoch:?\s*(?P<epoch>\d+)(?P<of>\s*/\s*\d+)?.{0,80}?)?\|\s*(?P<at>\d+)/(?P<total>\d+) "
    r"\[[^,\]]*(?:,\s*[\d.?]+\s*\w+/s|,\s*[\d.?]+\s*s/\w+)?(?:,\s*(?P<behind>[^\]]*))?\]",
    re.IGNORECASE,
)
_PAIR = re.compile(r"([A-Za-z_][\w./ @()-]*)\s*[=:]\s*([-+\w.%]+)")
_TORCHTUNE = re.compile(r"\b\d+\|(\d+)\|Loss: ([-+\w.]+):")
_NOT_METRICS = frozenset({"v_num", "step", "global_step", "epoch"})
_KERAS_EPOCH = re.compile(r"^\s*Epoch (\d+)/\d+\s*$")
_KERAS = re.compile(r"(?P<at>\d+)/(?P<total>\d+) (?:\[=+\]|━+)?\s*-? .{0,60}?- (?P<values>\w+: .*)$")


def _bar(line: str, memory: DialectState) -> LineValues | None:
    """`Epoch 0:  2%|▏| 10/500 [00:05<04:10,  1.96it/s, v_num=0, train_loss=9.440]`, told once a step.

    Steps go on over the epochs, which Lightning counts from 0 and `Epoch 1/20` from 1.
    """
    found = _BAR.search(line)
    if found is None or not found["behind"] or "loss" not in found["behind"].lower():
        return None
    step = int(found["at"])
    if found["epoch"]:
        epoch = int(found["epoch"])
        from_one = memory.setdefault("from one", found["of"] is not None and epoch > 0)
        step += (epoch - from_one) * int(found["total"])
    elif "from one" in memory:  # the bar of an evaluation: its end belongs to the training's step
        if found["at"] != found["total"] or memory.get("evaluated") == memory.get("bar"):
            return None
        memory["evaluated"] = step = int(memory.get("bar", 0))
        memory["bar"] = None
    if memory.get("bar") == step:
        return None
    memory["bar"] = step
    pairs = ((name.strip(), text) for name, text in _PAIR.findall(found["behind"]))
    values = parse_numbers((name, text) for name, text in pairs if name not in _NOT_METRICS)
    return LineValues(step, {name: value for name, value in values.items() if _is_new(name, value, memory)})


def _is_new(name: str, value: float, memory: DialectState) -> bool:
    """Whether a bar does not just repeat what was said at the end of an epoch."""
    if not name.startswith("val") and not name.endswith("_epoch"):
        return True
    repeated, memory[name] = memory.get(name) == value, value
    return not repeated


def _torchtune(line: str, memory: DialectState) -> LineValues | None:
    """`1|2|Loss: 2.764:   2%|▏| 2/101 [00:38<31:17, 18.96s/it]`: epoch, step, loss."""
    found = _TORCHTUNE.search(line)
    if found is None or memory.get("bar") == int(found[1]):
        return None
    memory["bar"] = int(found[1])
    return LineValues(memory["bar"], parse_numbers({"loss": found[2]}.items()))


def _keras_epoch(line: str, memory: DialectState) -> LineValues | None:
    found = _KERAS_EPOCH.match(line)
    if found is not None:
        memory["epoch"], memory["told"], memory["total"] = int(found[1]) - 1, [], None
    return None


def _keras(line: str, memory: DialectState) -> LineValues | None:
    """`92/92 [====] - 2s 20ms/step - loss: 1.2 - val_loss: 1.0`: the end of an epoch.

    Epochs count from 0, as CSVLogger's do. Means so far are passed over, and evaluations between epochs.
    """
    found = _KERAS.search(line.rpartition("\b")[2])
    if found is None or found["at"] != found["total"] or "epoch" not in memory:
        return None
    if memory["total"] not in (None, found["total"]):
        return None
    memory["total"] = found["total"]
    values = parse_numbers(piece.partition(": ")[::2] for piece in found["values"].strip().split(" - "))
    new = {name: value for name, value in values.items() if name not in memory["told"]}
    memory["told"] += new
    return LineValues(memory["epoch"], new)


DIALECT = ConsoleDialect(
    name="progress-bars",
    tell=re.compile(
        rb"\| *\d+/\d+ \[\d[^\]\n]*[Ll]oss\w*[=:] ?[-\dni]|\d\|\d+\|Loss: [\d.]+:"
        rb"|\d+/\d+ (?:\[=|(?:\x1b\[\d+m)?\xe2\x94\x81|- \d+s )[^\n]*loss: [\dn]"
    ),
    kinds=(
        LineKind(mark=re.compile(rb"\d\|\d+\|Loss: "), read=_torchtune),
        LineKind(mark=re.compile(rb"/\d+ \[\d[^\]\n]*[Ll]oss"), read=_bar),
        LineKind(mark=re.compile(rb"loss: [\dn]"), read=_keras),
        LineKind(mark=re.compile(rb"Epoch \d+/\d+"), read=_keras_epoch),
    ),
)
