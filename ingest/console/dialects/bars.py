"""Progress bars followed by numbers: those of tqdm, Lightning, torchtune and Keras."""

from __future__ import annotations

import re
from collections.abc import Iterable

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.line_counters import Counter
from holter.ingest.console.line_words import DATA_SPLIT
from holter.ingest.console.plain_line import axis_state, metric_name
from holter.ingest.console.step_axis import note_bar
from holter.ingest.console.training_sections import enter_section, section_labels
from holter.ingest.console.values import parse_numbers
from holter.ingest.metric_names import is_metric_name
from holter.types import Labels, labels_of

_BAR = re.compile(
    r"(?:\bepochs?\W{0,3}(?P<epoch>\d++)(?P<of>\s*/\s*\d++)?[^\r]{0,400}?)?"
    r"(?:\||\d%)\s*+(?P<at>\d++)(?:\.\d{1,2})?/(?P<total>\d++)(?:\.\d{1,2})? "
    r"\[[^,\]]{0,60}+(?:,\s*+[\d.?]++\s*+(?P<rate>\w++/s|s/\w++))?(?:,\s*+(?P<behind>[^\]]{0,2000}+))?\]",
    re.IGNORECASE,
)
_EPOCHS = re.compile(r"(?i)\bepochs?\W{0,4}$")
_EPOCH_AHEAD = re.compile(r"^\s*(\d{1,9})/\d{1,9} \* Epoch \(")
"""The epoch before a bar of Catalyst: `3/10 * Epoch (train): 100% 391/391`."""
_PERCENT = re.compile(r"[:| ]{0,8}\s\d{1,3}%")
_PAIR = re.compile(r"([A-Za-z_][\w./ @()-]{0,100}+)\s*+[=:]\s*+([-+\w.%]*[\w%])")
_DASHED_PAIR = re.compile(r"(?:^|, )([A-Za-z_][\w./@]{0,60}) - (-?\d[\d.e+-]{0,20})(?=,|$)")
"""A pair with a dash for a sign: `dice_loss - 0.5, iou_score - 0.4`."""
_BARE_PAIR = re.compile(
    r"(?:^|[\r,|] ?)([A-Za-z][\w./]{0,40}(?: [a-z]{2,10})?) (\d{1,9}\.\d{1,12})(?=[,:]|\s*$)"
)
"""A pair without a sign before a bar: `loss 1.5:   1%|`."""
_STEPS_BEFORE = re.compile(r"\((\d{1,12}) / \d{1,12} Steps\)")
"""The step of all before a bar of the batches of an epoch: `Training (10 / 900 Steps) (loss=0.7)`."""
_TORCHTUNE = re.compile(r"\b\d+\|(\d+)\|Loss: ([-+\w.]+):")
_NOT_METRICS = frozenset({"v_num", "step", "global_step", "epoch", "iteration"})
_PROGRESS = re.compile(
    r"\|[#\u2588-\u258f -]{2,80}\|? {0,4}(?P<open>\()?(?P<at>\d{1,9})/(?P<total>\d{1,9})"
    r"(?(open)\)| \[\d{1,3}%\] in [\d:.hms]{1,12} \([^)\r]{0,40}\)) (?P<values>[^\r]*)$"
)
_KERAS_EPOCH = re.compile(r"^\s*Epoch (\d+)/(\d+)\s*$")
_OF_TRAINING = re.compile(r" - (?:val_|lr: |learning_rate: )")
"""What no bar of an evaluation has; a training of one epoch has no heading."""
_KERAS = re.compile(
    r"(?<!\d)(?P<at>\d++)/(?P<total>\d++) (?:\[=++\]|━++)?\s{0,20}-? .{0,60}?- (?P<values>\w+: .*)$"
)


def _bar(line: str, state: DialectState) -> LineValues | None:
    """`Epoch 0:  2%|▏| 10/500 [00:05<04:10,  1.96it/s, v_num=0, train_loss=9.440]`, read once per step.

    Steps count through the epochs, which Lightning numbers from 0 and `Epoch 1/20` from 1. Of the bar of an
    evaluation its end is read, at the step of the training.
    """
    match = _BAR.search(line)
    if match is None:
        return None
    # `loss: 1.5 ||:  1%|1  | 1/100 [00:01<02:00]`
    before = _text_before(match)
    pairs = _measured(match["behind"] or "") or _measured(before)
    if not pairs:
        return None
    at, total, axis = int(match["at"]), int(match["total"]), axis_state(state)
    if _counts_epochs(match, before):
        return _end_of_epoch(at, parse_numbers(pairs), state)
    epoch = _epoch_of(match, before)
    split = _split_of(match, before, epoch, state)
    if split:
        if at != total or "bar" not in state or state.get("evaluated") == [state["bar"], total]:
            return None
        state["evaluated"], state["between"] = [state["bar"], total], True
        values = {metric_name(name, split): value for name, value in parse_numbers(pairs).items()}
        return LineValues(int(state["bar"]), values, labels=section_labels(axis))
    axis.pop("evaluating", None)
    _note_version(dict(pairs).get("v_num"), state)
    counts = {Counter.EPOCH: (epoch, 0)} if epoch is not None else {}
    if enter_section({**counts, Counter.BATCH: (at, total)}, axis):
        _begin_again(state)
    step = _step_of_bar(match, before, epoch, is_lightning="v_num" in dict(pairs), state=state)
    if at == 0 and step + total == state.get("bar"):  # Lightning resets the bar of a complete epoch
        step += total
    values = _metrics(pairs)
    if state.get("bar") == step:  # drawn again, maybe with the values of an evaluation
        values = {name: value for name, value in values.items() if _is_evaluated(name, axis)}
    else:
        state["bar"] = step
        note_bar(step, [*values], axis)
    new = {name: value for name, value in values.items() if _is_new(name, value, state)}
    return LineValues(step, new, labels=_labels(state)) if new else None


def _note_version(version: str | None, state: DialectState) -> None:
    """Begin the next Trainer of the same launch where Lightning's version of the run changes.

    Only where another launch would be recognised by its opening lines.
    """
    last = state.setdefault("version", version)
    if version is None or version == last:
        return
    state["version"] = version
    if last is not None and state.get("opening"):
        _begin_again(state)
        state["trainer"] = state.get("trainer", 1) + 1


def _labels(state: DialectState) -> Labels | None:
    """The labels of the values of a bar: of the training that a line above names, and of the Trainer."""
    labels = section_labels(axis_state(state))
    if state.get("trainer", 1) == 1:
        return labels
    return labels_of({**dict(labels or ()), "trainer": str(state["trainer"])})


def _begin_launch(state: DialectState) -> None:
    """Forget the bars and the Trainers of the launch before."""
    _begin_again(state)
    state.pop("version", None)
    state.pop("trainer", None)


def _begin_keras(state: DialectState) -> None:
    """Forget the epoch of the launch before."""
    state.pop("epoch", None)
    state.pop("first epoch", None)


def _begin_again(state: DialectState) -> None:
    """Forget the position of the bars of a training."""
    for name in ("from one", "bar", "bars", "between", "epochs", "evaluated"):
        state.pop(name, None)


def _epoch_of(bar: re.Match[str], before: str) -> int | None:
    """The epoch before a bar."""
    if bar["epoch"]:
        return int(bar["epoch"])
    ahead = _EPOCH_AHEAD.match(before)
    return None if ahead is None else int(ahead[1])


def _counts_epochs(bar: re.Match[str], before: str) -> bool:
    """Whether a bar counts epochs: `12.3s/epoch`, `Epochs:  10%|`; bars of their batches are within it."""
    return "epoch" in (bar["rate"] or "").lower() or _EPOCHS.search(before) is not None


def _end_of_epoch(epoch: int, values: dict[str, float], state: DialectState) -> LineValues | None:
    """The values of a bar of epochs, once an epoch: at the step of the bar within it, if there is any."""
    axis = axis_state(state)
    if epoch <= state.get("epochs", 0):
        state["epochs"] = min(epoch, state.get("epochs", 0))
        return None
    state["epochs"], state["between"] = epoch, True
    step = int(state.get("bar") or epoch)
    names = axis.get("names", ()) if "bar" in state else ()
    axis["step"] = step
    means = {f"epoch/{name}" if name in names else name: value for name, value in values.items()}
    return LineValues(step, means, labels=section_labels(axis))


def _measured(text: str) -> list[tuple[str, str]]:
    """The named numbers of a text, if a known metric or two fractions are among them."""
    found = _PAIR.findall(text) + _DASHED_PAIR.findall(text) or _BARE_PAIR.findall(text)
    pairs = [(_without_opened(name).strip(), number) for name, number in found]
    pairs = [pair for pair in pairs if not pair[0].lower().startswith("epoch ")]
    fractions = sum("." in number and number.rstrip("%")[-1:].isdigit() for _, number in pairs)
    return pairs if fractions > 1 or any(is_metric_name(name) for name, _ in pairs) else []


def _metrics(pairs: Iterable[tuple[str, str]]) -> dict[str, float]:
    """The numbers of pairs that are no positions."""
    return parse_numbers(pair for pair in pairs if pair[0].lower() not in _NOT_METRICS)


def _without_opened(name: str) -> str:
    """A name without what is before it: `Training (10 / 900 Steps) (loss=0.7)`, `Epochs 0/3. Loss: 0.7`."""
    name = name.rpartition(". ")[2]
    return name.rpartition("(")[2] if name.count("(") > name.count(")") else name


def _split_of(bar: re.Match[str], before: str, epoch: int | None, state: DialectState) -> str:
    """The data of a bar's evaluation; "" for the training.

    Where bars of the training name their epoch, others are of an evaluation, and so is a shorter bar behind
    the end of a training's.
    """
    if (found := DATA_SPLIT.search(before)) is not None:
        return (found[2] or "").lower()
    _, last, last_total, _ = state.get("bars", (0, 0, 0, None))
    is_shorter = int(bar["total"]) < last_total == last
    return "eval" if epoch is None and ("from one" in state or is_shorter) else ""


def _step_of_bar(
    bar: re.Match[str], before: str, epoch: int | None, *, is_lightning: bool, state: DialectState
) -> int:
    if (stated := _STEPS_BEFORE.search(before)) is not None:
        return int(stated[1])
    if epoch is None:
        return _continued(int(bar["at"]), int(bar["total"]), state)
    is_first = epoch == 1 and not is_lightning  # Lightning counts from 0
    from_one: bool = state.setdefault("from one", epoch > 0 and (bar["of"] is not None or is_first))
    return int(bar["at"]) + (epoch - from_one) * int(bar["total"])


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
    values = _metrics(_PAIR.findall(match["values"]))
    return LineValues(step, {name: value for name, value in values.items() if _is_new(name, value, state)})


def _text_before(bar: re.Match[str]) -> str:
    """What a line has before a bar, without its per cent."""
    text = bar.string[: bar.start("at")].rpartition("\r")[2]
    return _PERCENT.split(text, maxsplit=1)[0]


def _continued(step: int, total: int, state: DialectState) -> int:
    """The step of a bar that states no epoch: one that begins anew after its end is of the next epoch.

    The end itself is not printed of bars that vanish.
    """
    epoch = axis_state(state).get("announced")
    before, last, last_total, last_epoch = state.get("bars", (0, 0, 0, epoch))
    ended = last + max(1, total // 10) >= last_total == total and last > 0
    is_next = epoch != last_epoch or (step == last and state.get("between", False))
    state["between"] = False
    if (step < last and ended) or (is_next and last == last_total == total):
        before += total
    state["bars"] = [before, step, total, epoch]
    return int(before) + step


def _is_evaluated(name: str, axis: DialectState) -> bool:
    """Whether a value may be new in a bar that is drawn again at its step."""
    return name not in axis.get("names", ()) or name.startswith("val") or name.endswith("_epoch")


def _is_new(name: str, value: float, state: DialectState) -> bool:
    """Whether a value is not just the repetition of that at the end of an epoch."""
    if not name.startswith("val") and not name.endswith("_epoch"):
        return True
    repeated, state[name] = state.get(name) == value, value
    return not repeated


def _progress(line: str, state: DialectState) -> LineValues | None:
    """`Processing |####| (391/391) Data: 0.01s | Loss: 1.2 | top1: 44.5`: the end of an epoch.

    So is `|████| 60/60 [100%] in 11.2s (5.35/s) val_loss: 1.7`. The second bar of an epoch is that of its
    evaluation.
    """
    match = _PROGRESS.search(line.rpartition("\r")[2])
    axis = axis_state(state)
    step = axis.get("step", axis.get("announced", [None])[0])
    if match is None or match["at"] != match["total"] or step is None:
        return None
    values = parse_numbers(pair for pair in _PAIR.findall(match["values"]) if is_metric_name(pair[0]))
    is_second = state.get("progress", [None])[0] == step and state["progress"][1] != match["total"]
    if not is_second:
        state["progress"] = [step, match["total"]]
    split = "eval" if is_second else ""
    measured = {metric_name(name.strip(), split): value for name, value in values.items()}
    return LineValues(int(step), measured, labels=_labels(state))


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
        number, epochs = int(match[1]), int(match[2])
        enter_section({Counter.EPOCH: (number, 0)}, axis_state(state))
        # a script that trains an epoch at a time counts none
        first = state.setdefault("first epoch", min(number, 1))
        _begin_keras_epoch(state.get("epoch", -1) + 1 if epochs == 1 else number - first, state)
        state.pop("unheaded", None)
    return None


def _begin_keras_epoch(number: int, state: DialectState) -> None:
    state["epoch"], state["told"], state["total"] = number, [], None


def _keras(line: str, state: DialectState) -> LineValues | None:
    """`92/92 [====] - 2s 20ms/step - loss: 1.2 - val_loss: 1.0`: the end of an epoch.

    Epochs count from 0, as in CSVLogger. Running means are skipped, and evaluations between epochs.
    """
    text = line.rpartition("\b")[2]
    match = _KERAS.search(text)
    # `53/52` where a script asks for a fraction of a batch
    if match is None or int(match["at"]) < int(match["total"]):
        return None
    if ("epoch" not in state or "unheaded" in state) and _OF_TRAINING.search(match["values"]) is not None:
        # the text begins below the heading of an epoch, or has none
        _begin_keras_epoch(state.get("epoch", -1) + 1, state)
        state["unheaded"] = True
    if "epoch" not in state:
        return None
    values = parse_numbers(piece.partition(": ")[::2] for piece in match["values"].strip().split(" - "))
    stated = DATA_SPLIT.search(text, 0, match.start())  # `Validation 10/10 [====] - loss: 1.2`
    split = "" if stated is None else (stated[2] or "").lower()
    if split or state["total"] not in (None, match["total"]):
        measured = {metric_name(name, split or "eval"): value for name, value in values.items()}
        return LineValues(state["epoch"], measured)
    state["total"] = match["total"]
    # with the values of an evaluation come the means of the complete epoch once more
    new = values if values.keys() - {*state["told"]} else {}
    state["told"] += [*new]
    axis = axis_state(state)
    axis["step"] = state["epoch"]
    return LineValues(state["epoch"], new, labels=section_labels(axis))


_NAMED_NUMBER = rb", {0,4}[A-Za-z_][\w ./@()-]{0,60}(?:[=:] {0,4}| - )[-+]?[\dn]"
_ALIVE = rb"\d/\d{1,9} \[\d{1,3}%\] in [\d:.hms]{1,12} \([^)\r\n]{0,40}\) [a-z]"
DIALECT = ConsoleDialect(
    name="progress-bars",
    signature=re.compile(
        rb"(?:\||\d%) *\d+/\d+ \[\d[^\]\n]{0,200}?" + _NAMED_NUMBER + rb"|\d\|\d+\|Loss: [\d.]+:"
        rb"|[#\x88 ]\| {0,4}\(\d{1,9}/\d{1,9}\) [^\n]{0,200}?[Ll]oss: \d|"
        + _ALIVE
        + rb"[^\n]{0,100}?[=:] ?\d"
        rb"|(?m:(?:^|\r)[^|\n\r]{0,80}?\w[:=] {0,8}-?\d{1,9}\.\d[^|\n\r]{0,200}?:? {1,4}\d{1,3}%\|)"
        rb"|[Ll]oss \d{1,9}\.\d{1,12}: {1,4}\d{1,3}%\|"
        rb"|[Ll]oss\w{0,40}[:=] ?\d[^|\n]{0,200}?(?:\|\||: |\))?: {1,4}\d{1,3}%[| ]"
        rb"|\d/\d{1,9} \d+:\d\d[^\n]{0,80}?it/s [^\n]{0,400}?loss\w{0,40}: ?[\dn]"
        rb"|\d/\d+(?:\x1b\[\d+m)? (?:\[=|(?:\x1b\[\d+m)?\xe2\x94\x81|- \d+s )[^\n]{0,400}?loss: [\dn]"
    ),
    kinds=(
        LineKind(pattern=re.compile(rb"\d\|\d+\|Loss: "), parse=_torchtune),
        LineKind(pattern=re.compile(rb"\| {0,4}\(\d{1,9}/\d{1,9}\) [^\n]{0,200}?[Ll]oss: "), parse=_progress),
        LineKind(pattern=re.compile(_ALIVE), parse=_progress),
        LineKind(
            pattern=re.compile(rb"/\d+ \[\d[^\]\n]{0,200}?" + _NAMED_NUMBER),
            parse=_bar,
            begin_launch=_begin_launch,
        ),
        LineKind(pattern=re.compile(rb"\d(?: ?\|\||: |\))?: {1,4}\d{1,3}%[| ]"), parse=_bar),
        LineKind(pattern=re.compile(rb"(?:it/s|s/it) [^\n]{0,400}?loss\w{0,40}: ?[\dn]"), parse=_rich_bar),
        LineKind(
            pattern=re.compile(
                rb"\d/\d+[ \x1b][^\r\n]{0,300}?(?:=\]|=>|\xe2\x94\x81|\ds )[^\r\n]{0,300}?loss: [\dn]"
            ),
            parse=_keras,
        ),
        LineKind(
            pattern=re.compile(rb"(?m)Epoch \d+/\d+[ \t]*\r?$"), parse=_keras_epoch, begin_launch=_begin_keras
        ),
    ),
)
