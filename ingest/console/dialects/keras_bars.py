"""Progress bars of Keras: `92/92 [====] - 2s 20ms/step - loss: 1.2 - val_loss: 1.0` below `Epoch 1/5`."""

from __future__ import annotations

import re

from holter.ingest.console.dialect import DialectState, LineKind, LineResult, LineValues
from holter.ingest.console.headings.training_sections import enter_section, section_labels
from holter.ingest.console.line.evaluation_names import metric_name
from holter.ingest.console.line.line_counters import Counter
from holter.ingest.console.line.line_words import DATA_SPLIT
from holter.ingest.console.plain.metrics_of_epoch import parse_metrics_of_epoch
from holter.ingest.console.plain.plain_line import axis_state, parse_plain_line
from holter.ingest.console.text.values import parse_number, parse_numbers

_KERAS_EPOCH = re.compile(r"^\s*Epoch (\d+)/(\d+)\s*$")
_AROUND_EPOCHS = re.compile(r"(?i)\s*epoch \d+/\d+ ")
"""A bar of all epochs, of which it states one: `Epoch 1/5 ━━━━ 100% 0:00:11 loss: 0.5`."""
_EPOCH_AHEAD = re.compile(r"(?i)\bepochs?[ :#(\[]{1,3}$")
"""What is before the numbers of a line of an epoch, which is no bar: `[a] Epoch 1/5 - 12s - loss: 0.5`."""
_OF_TRAINING = re.compile(r" - (?:val_|lr: |learning_rate: )")
"""What no bar of an evaluation has; a training of one epoch has no heading."""
_LEFT = re.compile(r"(?:ETA: |\u2501 {0,4})(?:(?P<hours>\d{1,4}):)?(?P<minutes>\d{1,2}):\d\d\b")
"""The time that is left of an epoch, from a minute on."""
_LONG = 10
"""Minutes after which values of a part of an epoch are of interest."""
_PARTS = 4
"""Parts of a long epoch at the ends of which its values are shown."""
_BETWEEN = re.compile(r" - |(?<=[\d%])[ ,;|]{1,4}(?=[A-Za-z_][\w ]{0,40}: )")
"""What is between two values; programs that draw such bars themselves use other signs than Keras."""
_NUMBER_AHEAD = re.compile(r"[-+]?\d[\d.]{0,20}(?:e[-+]?\d{1,3})?[ \t]{0,8}(?=[A-Za-z])")
"""A value right before a message that the program prints without a line end between: `0.5Eval: mAP 0.4`."""
_KERAS = re.compile(
    r"(?<!\d)(?P<at>\d++)/(?P<total>\d++) (?:\[=*+>?\.*+\]|━++)?\s{0,20}-? (?:.{0,60}?- )??"
    r"(?P<values>(?!ETA|\d)\w+(?: \w+){0,2}: .*)$"
)


def _begin_launch(state: DialectState) -> None:
    """Forget the epoch of the launch before."""
    for name in ("epoch", "first epoch", "running"):
        state.pop(name, None)


def _release(state: DialectState) -> list[LineValues]:
    """The values of an epoch that was broken off."""
    running = state.pop("running", None)
    return [] if running is None else [_row_of_running(running, state)]


def _heading(line: str, state: DialectState) -> LineResult:
    """`Epoch 3/20`; returns the values of the epoch before, if it was broken off.

    Below the first bar of a training that is no bar of Keras it is a line as any other: of that bar's epoch.
    """
    match = _KERAS_EPOCH.match(line)
    left: list[LineValues] = []
    if match is not None:
        if "epoch" not in state and "bar" in axis_state(state):
            return parse_plain_line(line, state)
        left = _release(state)
        number, epochs = int(match[1]), int(match[2])
        enter_section({Counter.EPOCH: (number, 0)}, axis_state(state))
        # a script that trains an epoch at a time counts none
        first = state.setdefault("first epoch", min(number, 1))
        _begin_epoch(state.get("epoch", -1) + 1 if epochs == 1 else number - first, state)
        if epochs > 1:
            # what callbacks print below is of this epoch, also above its bar
            axis = axis_state(state)
            axis["headed"], axis["step"] = [number, state["epoch"]], state["epoch"]
            if "announced" in axis:
                axis["announced"] = [state["epoch"], epochs]
        state.pop("unheaded", None)
    return left


def _begin_epoch(number: int, state: DialectState) -> None:
    state["epoch"], state["told"], state["total"], state["part"] = number, [], None, 0


def _bar(line: str, state: DialectState) -> LineResult:
    """`92/92 [====] - 2s 20ms/step - loss: 1.2 - val_loss: 1.0`: the end of an epoch.

    Epochs count from 0, as in CSVLogger. Evaluations between epochs are skipped.
    """
    text = line.rpartition("\b")[2]
    if _AROUND_EPOCHS.match(text) is not None:
        return parse_plain_line(text, state)
    match = _KERAS.search(text)
    if match is None:
        return None
    if _EPOCH_AHEAD.search(text[: match.start("at")]) is not None:
        return parse_plain_line(text, state)
    # `53/52` where a script asks for a fraction of a batch
    if int(match["at"]) < int(match["total"]):
        return _running(match, text, state)
    axis = axis_state(state)
    if "headed" not in axis and "announced" in axis and state.get("epoch") != axis["announced"][0]:
        _begin_epoch(int(axis["announced"][0]), state)  # of a program that draws such bars itself
    elif ("epoch" not in state or "unheaded" in state) and _OF_TRAINING.search(match["values"]) is not None:
        # the text begins below the heading of an epoch, or has none
        _begin_epoch(state.get("epoch", -1) + 1, state)
        state["unheaded"] = True
    if "epoch" not in state:
        return None
    printed, message = _without_message(match["values"])
    values = _parse_values(printed)
    stated = DATA_SPLIT.search(text, 0, match.start())  # `Validation 10/10 [====] - loss: 1.2`
    split = "" if stated is None else (stated[2] or "").lower()
    if split or state["total"] not in (None, match["total"]):
        measured = {metric_name(name, split or "eval"): value for name, value in values.items()}
        return LineValues(state["epoch"], measured)
    state["total"] = match["total"]
    state.pop("running", None)
    # with the values of an evaluation come the means of the complete epoch once more
    new = values if values.keys() - {*state["told"]} else {}
    state["told"] += [*new]
    axis["step"] = state["epoch"]
    of_epoch = LineValues(state["epoch"], new, labels=section_labels(axis))
    if not message:
        return of_epoch
    behind = parse_plain_line(message, state) or parse_metrics_of_epoch(message, state)
    return [of_epoch, *(behind if isinstance(behind, list) else [behind] if behind else [])]


def _without_message(text: str) -> tuple[str, str]:
    """The values of a bar and what is printed behind them, from the first that is no number on."""
    text, position = text.strip(), 0
    for piece in _BETWEEN.split(text):
        start = text.index(piece, position)
        name, _, value = piece.partition(": ")
        position = start + len(piece)
        if parse_number(value) is None:
            ahead = _NUMBER_AHEAD.match(value)
            begin = start + len(name) + len(": ") + ahead.end() if ahead is not None else start
            return text[:begin].rstrip(" -,;|"), text[begin:]
    return text, ""


def _running(match: re.Match[str], text: str, state: DialectState) -> LineValues | None:
    """The means of an epoch so far, of one that takes long a few times: those of all of it replace them."""
    if "headed" not in axis_state(state) or "epoch" not in state or state["told"] or state["total"]:
        return None
    state["running"], part = match["values"], _PARTS * int(match["at"]) // int(match["total"])
    if part <= state["part"]:
        return None
    left = _LEFT.search(text)
    if left is None or not (left["hours"] or int(left["minutes"]) >= _LONG):
        return None
    state["part"] = part
    return _row_of_running(state["running"], state)


def _row_of_running(values: str, state: DialectState) -> LineValues:
    labels = section_labels(axis_state(state))
    return LineValues(state["epoch"], _parse_values(values), labels=labels, is_running=True)


def _parse_values(text: str) -> dict[str, float]:
    return parse_numbers(piece.partition(": ")[::2] for piece in _BETWEEN.split(text.strip()))


SIGNATURE = rb"\d/\d+(?:\x1b\[\d+m)? (?:\[=|(?:\x1b\[\d+m)?\xe2\x94\x81|- \d+s )[^\n]{0,400}?loss: [-+.\dni]"
KINDS = (
    LineKind(
        pattern=re.compile(
            rb"\d/\d+[ \x1b][^\r\n]{0,300}?(?:=\]|=>|\xe2\x94\x81|\ds )[^\r\n]{0,300}?loss: [-+.\dni]"
        ),
        parse=_bar,
    ),
    LineKind(
        pattern=re.compile(rb"(?m)Epoch \d+/\d+[ \t]*\r?$"),
        parse=_heading,
        begin_launch=_begin_launch,
        release=_release,
    ),
)
