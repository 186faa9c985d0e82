"""Progress bars followed by numbers: those of tqdm, Lightning, torchtune and Keras."""

from __future__ import annotations

import re

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.plain_line import axis_state
from holter.ingest.console.step_axis import note_bar
from holter.ingest.console.values import parse_numbers

_BAR = re.compile(
    r"(?:\bepoch:?\s*+(?P<epoch>\d++)(?P<of>\s*/\s*\d++)?.{0,80}?)?"
    r"(?:\||\d%)\s*+(?P<at>\d++)/(?P<total>\d++) "
    r"\[[^,\]]{0,60}+(?:,\s*+[\d.?]++\s*+(?:\w++/s|s/\w++))?(?:,\s*+(?P<behind>[^\]]{0,2000}+))?\]",
    re.IGNORECASE,
)
_PERCENT = re.compile(r"[:| ]{0,8}\s\d{1,3}%")
_PAIR = re.compile(r"([A-Za-z_][\w./ @()-]{0,100}+)\s*+[=:]\s*+([-+\w.%]+)")
_TORCHTUNE = re.compile(r"\b\d+\|(\d+)\|Loss: ([-+\w.]+):")
_NOT_METRICS = frozenset({"v_num", "step", "global_step", "epoch"})
_KERAS_EPOCH = re.compile(r"^\s*Epoch (\d+)/\d+\s*$")
_KERAS = re.compile(
    r"(?<!\d)(?P<at>\d++)/(?P<total>\d++) (?:\[=++\]|━++)?\s{0,20}-? .{0,60}?- (?P<values>\w+: .*)$"
)


def _bar(line: str, state: DialectState) -> LineValues | None:
    """`Epoch 0:  2%|▏| 10/500 [00:05<04:10,  1.96it/s, v_num=0, train_loss=9.440]`, read once per step.

    Steps count through the epochs, which Lightning numbers from 0 and `Epoch 1/20` from 1.
    """
    match = _BAR.search(line)
    values_text = "" if match is None else match["behind"] or ""
    if (
        match is not None and "loss" not in values_text.lower()
    ):  # `loss: 1.5 ||:  1%|1  | 1/100 [00:01<02:00]`
        values_text = _text_before(line, match)
    if match is None or "loss" not in values_text.lower():
        return None
    step = int(match["at"])
    if match["epoch"]:
        epoch = int(match["epoch"])
        is_first = epoch == 1 and "v_num" not in values_text  # Lightning counts from 0
        from_one = state.setdefault("from one", epoch > 0 and (match["of"] is not None or is_first))
        step += (epoch - from_one) * int(match["total"])
    elif "from one" in state:  # the bar of an evaluation: its end belongs to the training's step
        if match["at"] != match["total"] or state.get("evaluated") == state.get("bar"):
            return None
        state["evaluated"] = step = int(state.get("bar", 0))
        state["bar"] = None
    else:
        step = _continued(step, int(match["total"]), state)
    if state.get("bar") == step:
        return None
    state["bar"] = step
    pairs = ((name.strip(), text) for name, text in _PAIR.findall(values_text))
    values = parse_numbers((name, text) for name, text in pairs if name not in _NOT_METRICS)
    note_bar(step, [*values], axis_state(state))
    return LineValues(step, {name: value for name, value in values.items() if _is_new(name, value, state)})


_RICH = re.compile(
    r"\bEpoch (?P<epoch>\d++)(?:/\d++)?\s.{0,200}?\s(?P<at>\d++)/(?P<total>\d++)\s.{0,80}?(?:it/s|s/it) "
    r"(?P<values>.*)$"
)


def _rich_bar(line: str, state: DialectState) -> LineValues | None:
    """`Epoch 0/4 ━━━━━━ 5/20 0:00:00 • 0:00:01 12.3it/s v_num: 0 train_loss: 1.75` of Lightning and rich."""
    match = _RICH.search(line)
    if match is None:
        return None
    step = int(match["epoch"]) * int(match["total"]) + int(match["at"])
    if state.get("bar") == step:
        return None
    state["bar"] = step
    values = parse_numbers(pair for pair in _PAIR.findall(match["values"]) if pair[0] not in _NOT_METRICS)
    return LineValues(step, {name: value for name, value in values.items() if _is_new(name, value, state)})


def _text_before(line: str, bar: re.Match[str]) -> str:
    """The numbers before a bar, without its per cent."""
    text = line[: bar.start("at")].rpartition("\r")[2]
    return _PERCENT.split(text, maxsplit=1)[0]


def _continued(step: int, total: int, state: DialectState) -> int:
    """The step of a bar that states no epoch: one that begins anew after its end is of the next epoch."""
    epoch = axis_state(state).get("announced")
    before, last, last_total, last_epoch = state.get("bars", (0, 0, 0, epoch))
    if (step < last or epoch != last_epoch) and last == last_total == total:
        before += total
    state["bars"] = [before, step, total, epoch]
    return int(before) + step


def _is_new(name: str, value: float, state: DialectState) -> bool:
    """Whether a value is not just the repetition of that at the end of an epoch."""
    if not name.startswith("val") and not name.endswith("_epoch"):
        return True
    repeated, state[name] = state.get(name) == value, value
    return not repeated


def _torchtune(line: str, state: DialectState) -> LineValues | None:
    """`1|2|Loss: 2.764:   2%|▏| 2/101 [00:38<31:17, 18.96s/it]`: epoch, step, loss."""
    match = _TORCHTUNE.search(line)
    if match is None or state.get("bar") == int(match[1]):
        return None
    state["bar"] = int(match[1])
    return LineValues(state["bar"], parse_numbers({"loss": match[2]}.items()))


def _keras_epoch(line: str, state: DialectState) -> LineValues | None:
    match = _KERAS_EPOCH.match(line)
    if match is not None:
        state["epoch"], state["told"], state["total"] = int(match[1]) - 1, [], None
    return None


def _keras(line: str, state: DialectState) -> LineValues | None:
    """`92/92 [====] - 2s 20ms/step - loss: 1.2 - val_loss: 1.0`: the end of an epoch.

    Epochs count from 0, as in CSVLogger. Running means are skipped, and evaluations between epochs.
    """
    match = _KERAS.search(line.rpartition("\b")[2])
    if match is None or match["at"] != match["total"] or "epoch" not in state:
        return None
    if state["total"] not in (None, match["total"]):
        return None
    state["total"] = match["total"]
    values = parse_numbers(piece.partition(": ")[::2] for piece in match["values"].strip().split(" - "))
    new = {name: value for name, value in values.items() if name not in state["told"]}
    state["told"] += new
    return LineValues(state["epoch"], new)


DIALECT = ConsoleDialect(
    name="progress-bars",
    signature=re.compile(
        rb"\| *\d+/\d+ \[\d[^\]\n]{0,400}?[Ll]oss\w{0,60}[=:] ?[-\dni]|\d\|\d+\|Loss: [\d.]+:"
        rb"|[Ll]oss\w{0,40}[:=] ?\d[^|\n]{0,200}?(?:\|\||: )?: {1,4}\d{1,3}%[| ]"
        rb"|\d/\d{1,9} \d+:\d\d[^\n]{0,80}?it/s [^\n]{0,400}?loss\w{0,40}: ?[\dn]"
        rb"|\d/\d+ (?:\[=|(?:\x1b\[\d+m)?\xe2\x94\x81|- \d+s )[^\n]{0,400}?loss: [\dn]"
    ),
    kinds=(
        LineKind(pattern=re.compile(rb"\d\|\d+\|Loss: "), parse=_torchtune),
        LineKind(pattern=re.compile(rb"/\d+ \[\d[^\]\n]{0,1000}?[Ll]oss"), parse=_bar),
        LineKind(pattern=re.compile(rb"\d(?: ?\|\||: )?: {1,4}\d{1,3}%[| ]"), parse=_bar),
        LineKind(pattern=re.compile(rb"(?:it/s|s/it) [^\n]{0,400}?loss\w{0,40}: ?[\dn]"), parse=_rich_bar),
        LineKind(
            pattern=re.compile(
                rb"\d/\d+[ \x1b][^\r\n]{0,300}?(?:=\]|=>|\xe2\x94\x81|\ds )[^\r\n]{0,300}?loss: [\dn]"
            ),
            parse=_keras,
        ),
        LineKind(pattern=re.compile(rb"(?m)Epoch \d+/\d+[ \t]*\r?$"), parse=_keras_epoch),
    ),
)
