"""Progress bars followed by numbers: those of tqdm, Lightning, torchtune and Keras."""

from __future__ import annotations

import re
from collections.abc import Sequence

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineResult, LineValues
from holter.ingest.console.dialects import alive_bars, keras_bars
from holter.ingest.console.headings.training_sections import begin_section, enter_section, section_labels
from holter.ingest.console.line.data_names import is_of_evaluation
from holter.ingest.console.line.evaluation_names import metric_name
from holter.ingest.console.line.line_counters import Counter
from holter.ingest.console.plain.bar_lines import Bar, parse_bar
from holter.ingest.console.plain.bar_steps import (
    awaits_second,
    begin_training_of_bars,
    labels_of_bar,
    passes_again,
    step_of_bar,
)
from holter.ingest.console.plain.plain_line import axis_state, parse_plain_line
from holter.ingest.console.search.pattern_search import LinearPattern
from holter.ingest.console.steps.announced_steps import note_bar
from holter.ingest.console.steps.evaluated_parts import end_evaluation
from holter.ingest.console.steps.positions import position
from holter.ingest.console.text.values import parse_numbers
from holter.types import labels_of

_TORCHTUNE = re.compile(r"\b\d+\|(\d+)\|Loss: ([-+\w.]+):")

_WITHOUT_TOTAL = re.compile(
    r"(?:^|\r)(?P<description>[^\r\n|]{0,200}?)(?:: |(?<=\r)|^)"
    r"(?P<at>\d{1,9})(?P<unit>it|steps?|batch(?:es)?|ba) \[\d"
)
_OWN_STEP = re.compile(r"(?i)step['\"]?[=:]")
_STATED_EPOCH = re.compile(r"(?i), {0,2}epochs?=\d[\d.]{0,12}")
_WORD = re.compile(r"[_/. -]")

_MOST_CLIENTS = 1024
"""Clients with bars of their own."""
_MOST_NAMES = 64
"""Names of values in the bars of a training that are looked at."""
_MOST_AROUND, _NOT_AROUND = 8, -2
"""Lengths of bars that are looked at for one around the training's; the count of one that is not."""
_DRAWN = {"drawn": "first"}
"""The label of the values of a bar above lines of later steps."""


def _bar(line: str, state: DialectState) -> LineResult:
    """`Epoch 0:  2%|▏| 10/500 [00:05<04:10,  1.96it/s, v_num=0, train_loss=9.440]`, read once per step.

    Steps count through the epochs, which Lightning numbers from 0 and `Epoch 1/20` from 1. Of the bar of an
    evaluation its end is read, at the step of the training. A bar without values may announce an epoch. The
    first one waits for the next where it is in a later epoch.
    """
    bar = parse_bar(line)
    if bar is None:
        return None
    state["last drawn"] = [bar.description, bar.total]
    if _is_drawn_last(bar, state):
        state["drawn last"] = line
        return []
    split = "" if bar.counts_epochs else _split_of(bar, state)
    if not split and bar.version is not None:
        _note_names_of_epochs(bar, state)
    if split and bar.at == bar.total:
        state["evaluation ended"] = True
    if not bar.values:
        last, state["announced by"] = state.get("announced by"), bar.description
        is_heading = Counter.EPOCH in bar.counts and bar.description != last
        return parse_plain_line(line, state) if is_heading else None
    if bar.client:
        return _of_client(bar, state)
    if bar.counts_epochs:
        return _end_of_epoch(bar, state)
    if (of_epochs := _around(bar, state)) is not None:
        return of_epochs
    return _of_batches(bar, state)


def _of_batches(bar: Bar, state: DialectState) -> list[LineValues]:
    """The values of a bar that counts batches, of the training or an evaluation."""
    split = _split_of(bar, state)
    return _evaluation(bar, split, state) if split else _training(bar, state)


def _of_client(bar: Bar, state: DialectState) -> list[LineValues]:
    """The values of the bar of a client, whose steps are its own: each of its bars continues them."""
    clients: dict[str, DialectState] = state.setdefault("clients", {})
    if bar.client not in clients and len(clients) >= _MOST_CLIENTS:
        return []
    own = clients.setdefault(bar.client, {})
    return _with_client(bar.client, _of_batches(bar, own))


def _with_client(client: str, found: Sequence[LineValues]) -> list[LineValues]:
    return [item._replace(labels=labels_of({**dict(item.labels or ()), "client": client})) for item in found]


def _is_drawn_last(bar: Bar, state: DialectState) -> bool:
    """Whether a bar of Lightning may be the last one of the training, though it is the first of the text.

    W&B stores what a terminal shows in the end: a bar is drawn again in the line where it was drawn first,
    above what was printed meanwhile, such as the scores of all epochs.
    """
    if bar.version is None or "drawn last" in state or "bar" in state or "step" in axis_state(state):
        return False
    return bool(bar.values) and bar.counts.get(Counter.EPOCH, (0, 0))[0] > 0


def _drawn_last(state: DialectState) -> list[LineValues]:
    """The values of the first bar of the text, now that another one or the end of the text follows."""
    if not (line := state.get("drawn last")):
        return []
    state["drawn last"] = ""
    found = _bar(line, state)
    return [found] if isinstance(found, LineValues) else [*(found or ())]


def _release_all(state: DialectState) -> list[LineValues]:
    """The values that wait for another bar, where none follows.

    A bar that was no longer drawn when later lines were printed is apart from these, whose steps are beyond.
    """
    last, drawn, waiting = int(axis_state(state).get("step", 0)), _drawn_last(state), _release(state)
    for client, own in state.get("clients", {}).items():
        waiting += _with_client(client, _release(own))
    if not drawn or drawn[0].step >= last:
        return [*drawn, *waiting]
    labels = labels_of({**dict(drawn[0].labels or ()), **_DRAWN})
    return [item._replace(labels=labels) for item in (*drawn, *waiting)]


def _training(bar: Bar, state: DialectState) -> list[LineValues]:
    """The values of a bar of the training that are new at its step, behind those that waited for it."""
    axis = axis_state(state)
    end_evaluation(axis)
    left = [*_drawn_last(state), *_note_version(bar.version, state)]
    _note_training(bar.description, state)
    if enter_section({**bar.counts, Counter.BATCH: (bar.at, bar.total)}, axis):
        left += _release(state)
        begin_training_of_bars(state)
    if "trains" not in state and not all(map(is_of_evaluation, bar.values)):
        state["trains"] = True
    step, last = step_of_bar(bar, state), state.get("bar")
    if bar.at == 0 and step + bar.total == last:  # Lightning resets the bar of a complete epoch
        step += bar.total
    if last is None and bar.version is None:
        state["bar"], state["waiting"] = step, [bar.at, bar.values]
        _is_of_next_epoch(bar, state)
        note_bar(step, [*bar.values], bar.counts, axis)
        return left
    left += _first(bar, state)
    values = bar.values
    if last == step and state.get("is early") and bar.at < bar.total:
        return left  # with the values of the next step
    may_begin = state.pop("may begin bars", False)
    if last == step and not may_begin:  # drawn again, maybe with the values of an evaluation
        drawn = bar.values if bar.version is None else state.get("drawn", bar.values)
        values = {
            name: value
            for name, value in values.items()
            if _may_be_new(name, state) or drawn.get(name, value) != value
        }
    else:
        left += _release(state)
        state["bar"] = step
        note_bar(step, [*values], bar.counts, axis)
    if bar.version is not None:  # Lightning draws the next step with the values of the last one first
        state["drawn"] = bar.values
    if _is_of_next_epoch(bar, state):
        return [*left, LineValues(step, values, labels=labels_of_bar(state))]
    new = _new_values(values, state, is_end_of_epoch=_ends_epoch(bar, step, last, state))
    is_again = last == step and bar.version is not None
    return (
        [*left, LineValues(step, new, labels=labels_of_bar(state), is_provisional=is_again)] if new else left
    )


def _note_names_of_epochs(bar: Bar, state: DialectState) -> None:
    """Note the names that a bar of Lightning first has at the end of an epoch, where none within it had them.

    These values are measured once an epoch, whatever they are called: `train_loss=2.2` logged on its end.
    """
    if 0 < bar.at < bar.total:
        known = state.setdefault("names within", [])
        new = [name for name in bar.values if name not in known and name not in _names_of_epochs(state)]
        known += new[: _MOST_NAMES - len(known)]
    elif bar.at == bar.total and "names within" in state:
        names = state.setdefault("names of epochs", [])
        within = state["names within"]
        new = [name for name in bar.values if name not in names and name not in within]
        names += new[: _MOST_NAMES - len(names)] if len(within) < _MOST_NAMES else []


def _names_of_epochs(state: DialectState) -> Sequence[str]:
    """The names of values that are measured once an epoch without saying so."""
    names: list[str] = state.get("names of epochs", [])
    return names


def _is_of_next_epoch(bar: Bar, state: DialectState) -> bool:
    """Whether a bar has a position for each epoch that it states, so that all its values are new there."""
    before, epoch = state.pop("epoch at", None), bar.counts.get(Counter.EPOCH)
    if epoch is None:
        return False
    state["epoch at"] = [bar.at, epoch[0] - bar.at]
    return before is not None and before[0] < bar.at and before[1] == epoch[0] - bar.at


def _ends_epoch(bar: Bar, step: int, last: int | None, state: DialectState) -> bool:
    """Whether a bar is the end of an epoch of which nothing else was shown, or one behind its validation."""
    if bar.at != bar.total:
        state.pop("evaluation ended", None)
        return False
    return step - (last or 0) >= bar.total or (last == step and "evaluation ended" in state)


def _first(bar: Bar, state: DialectState) -> list[LineValues]:
    """The values of the first bar, now that the next one shows where it is.

    It is that of the next one, if it was drawn before it was counted, and within all epochs, if these do not
    begin anew.
    """
    if not awaits_second(state):
        return []
    at, values = state.pop("waiting")
    if at == 0 and bar.at > 0 and values == bar.values:
        state["is early"] = True
        return []
    before = state.get("epoch bar", [None])[-1]
    step = int(state["bar"]) if before is None else at
    axis = axis_state(state)
    if axis.get("step", step) > max(step, axis.get("bar", step)):
        return []  # lines behind it are at later steps
    new = _new_values(values, state)
    return [LineValues(step, new, labels=labels_of_bar(state))] if new else []


def _note_training(description: str, state: DialectState) -> None:
    """Note the training that the description of a bar names, as a heading does: `Fold 2 Training`."""
    named = _first_cell(description)
    if named != state.get("described"):
        state["described"] = named
        begin_section(named, state)


def _first_cell(description: str) -> str:
    """What a description begins with, if more is behind a bar: `Fold 2` of `Fold 2 | Iter 3 | Loss: 0.5`."""
    return description.partition("|")[0].strip()


def _new_values(
    values: dict[str, float], state: DialectState, *, is_end_of_epoch: bool = False
) -> dict[str, float]:
    """The values of a bar without those that are still shown from the end of the epoch before.

    At the `is_end_of_epoch` these may have been measured again with the same result: they wait for the next
    bar, as long as the bar may be drawn once more with other ones.
    """
    shown: dict[str, float] = state.setdefault("shown", {})
    carried = {name: value for name, value in values.items() if _is_of_epoch(name, state)}
    measured = {_data_of(name) for name, value in carried.items() if shown.get(name) != value}
    repeated = {name for name in carried if _data_of(name) not in measured}
    _, waiting = state.pop("waiting", (None, {}))
    waiting = {name: value for name, value in waiting.items() if carried.get(name, value) == value}
    if is_end_of_epoch:
        waiting |= {name: carried[name] for name in repeated}
    if waiting:
        state["waiting"] = [None, waiting]
    shown |= carried
    return {name: value for name, value in values.items() if name not in repeated}


def _data_of(name: str) -> str:
    """The data that a value of an epoch is of: all of these are measured at once."""
    return _WORD.split(name, maxsplit=1)[0]


def _release(state: DialectState) -> list[LineValues]:
    """The values that waited for the next bar.

    They are those of the first one, and of an epoch that were those of the epoch before.
    """
    _, waiting = state.pop("waiting", (None, {}))
    return [LineValues(int(state["bar"]), waiting, labels=labels_of_bar(state))] if waiting else []


def _is_of_epoch(name: str, state: DialectState) -> bool:
    """Whether a value is measured once an epoch, and shown until the end of the next one."""
    return is_of_evaluation(name) or name.endswith("_epoch") or name in _names_of_epochs(state)


def _may_be_new(name: str, state: DialectState) -> bool:
    """Whether a value may be new in a bar that is drawn again at its step."""
    return name not in axis_state(state).get("names", ()) or _is_of_epoch(name, state)


def _evaluation(bar: Bar, split: str, state: DialectState) -> list[LineValues]:
    """The values at the end of the bar of an evaluation, once."""
    axis = axis_state(state)
    if bar.at != bar.total:
        return []
    number, _ = bar.counts.get(Counter.EPOCH, (state.get("evaluations", 0) + 1, 0))
    state["evaluations"] = number
    step = state["bar"] if "bar" in state else position(axis)
    if step is None:
        step = number  # the training printed nothing
    if state.get("evaluated") == [step, bar.total, split]:
        return []
    state["evaluated"], state["between"] = [step, bar.total, split], True
    values = {metric_name(name, split): value for name, value in bar.values.items()}
    return [*_release(state), LineValues(int(step), values, labels=section_labels(axis))]


def _note_version(version: str | None, state: DialectState) -> list[LineValues]:
    """Begin the next Trainer of the same launch where Lightning's version of the run changes.

    Only where another launch would be recognised by its opening lines. Returns
    the values of the one before that wait for a bar.
    """
    last = state.setdefault("version", version)
    if version is None or version == last:
        return []
    state["version"] = version
    if last is None or not state.get("opening"):
        return []
    left = _release(state)
    begin_training_of_bars(state)
    state["trainer"] = state.get("trainer", 1) + 1
    return left


def _begin_launch(state: DialectState) -> None:
    """Forget the bars and the Trainers of the launch before."""
    begin_training_of_bars(state)
    state.pop("clients", None)
    state.pop("version", None)
    state.pop("trainer", None)


def _may_begin(state: DialectState) -> None:
    """Note that another launch may have begun: its first bar may be at the step of the last one before."""
    state["may begin bars"] = True


def _end_of_epoch(bar: Bar, state: DialectState) -> list[LineValues]:
    """The values of a bar of epochs, once an epoch: at the step of the bar within it, if there is any."""
    axis = axis_state(state)
    if bar.at <= state.get("epochs", 0):
        state["epochs"] = min(bar.at, state.get("epochs", 0))
        return []
    state["epochs"], state["between"] = bar.at, True
    axis["step"] = step = int(state.get("bar") or bar.at)
    return [LineValues(step, _means(bar.values, state), labels=section_labels(axis))]


def _around(bar: Bar, state: DialectState) -> list[LineValues] | None:
    """The values of a bar that counts epochs, one with each run of the bar within, and does not state it.

    That it does is known when it counts the second one: its first values wait for that. None for all other
    bars.
    """
    _, last, within, _ = state.get("bars") or state.get("epoch bar") or (0, 0, bar.total, None)
    is_within = bar.is_of_training and _first_cell(bar.description) == state.get("described")
    is_named = bar.split or is_within or bar.version is not None or bar.counts
    if is_named or bar.total == within or "bar" not in state:
        return None
    known, total, step = state.setdefault("around", {}), str(bar.total), int(state["bar"])
    if total not in known:
        if bar.at == 0 and last == within:
            return []  # drawn again behind the first run of the bar within
        if bar.at == 1 and len(known) < _MOST_AROUND:
            known[total] = [1, step, bar.values]
            return None if bar.at == bar.total else []
        return None
    at, before, values = known[total]
    if values is None:
        return _end_of_epoch(bar, state)
    if bar.at == at:
        return None if bar.at == bar.total else []
    if bar.at != at + 1 or step - before < within:
        known[total] = [_NOT_AROUND, step, {}]
        first_of_bar = _of_batches(bar._replace(at=at, values=values), state) if values else []
        return [*first_of_bar, *_of_batches(bar, state)]
    known[total], state["epochs"] = [bar.at, step, None], at
    first = LineValues(before, _means(values, state), labels=labels_of_bar(state), is_late=True)
    return [first, *_end_of_epoch(bar, state)]


def _means(values: dict[str, float], state: DialectState) -> dict[str, float]:
    """The values of an epoch, of which those that its batches have, too, are means of these."""
    names = axis_state(state).get("names", ()) if "bar" in state else ()
    return {f"epoch/{name}" if name in names else name: value for name, value in values.items()}


def _split_of(bar: Bar, state: DialectState) -> str:
    """The data of a bar's evaluation; "" for the training.

    Where bars of the training name their epoch, others are of an evaluation, and so is a second one of an
    epoch that is over, a shorter bar behind the end of a training's, and one with nothing but values of an
    evaluation, where others have more.
    """
    if bar.split or bar.is_of_training or not bar.values:
        return bar.split
    if bar.version is None and "trains" in state and all(map(is_of_evaluation, bar.values)):
        return "eval"
    if Counter.EPOCH in bar.counts:
        return "eval" if passes_again(bar, state) else ""
    _, last, last_total, _ = state.get("bars", (0, 0, 0, None))
    is_shorter = bar.total < last_total == last
    return "eval" if "from one" in state or is_shorter else ""


def _beyond_total(line: str, state: DialectState) -> LineResult:
    """`Training: 1004it [10:05, 1.9it/s, loss=0.4]`: tqdm draws no bar beyond its total, `1000/1000` above.

    A bar that never had a total, or is another one, is a line as any other, and so is one that states a step.
    The epoch of one that continues is known, and may be rounded.
    """
    match = _WITHOUT_TOTAL.search(line)
    description, total = state.get("last drawn", ("", 0))
    is_known = match is not None and match["description"].strip() == description and int(match["at"]) > total
    if match is None or not is_known or _OWN_STEP.search(line) is not None:
        return parse_plain_line(line, state)
    behind = _STATED_EPOCH.sub("", line[match.end("unit") + 1 :])
    return _bar(f"{description}: 100%|#| {match['at']}/{total} {behind}", state)


def _torchtune(line: str, state: DialectState) -> LineValues | None:
    """`1|2|Loss: 2.764:   2%|▏| 2/101 [00:38<31:17, 18.96s/it]`: epoch, step, loss."""
    match = _TORCHTUNE.search(line)
    if match is None or state.get("bar") == int(match[1]):
        return None
    state["bar"] = int(match[1])
    return LineValues(state["bar"], parse_numbers({"loss": match[2]}.items()))


_NAMED_NUMBER = (
    rb"(?:, {0,4}[{'\"(]{0,3}[A-Za-z_][\w ./@()-]{0,60}['\"]?(?:[=:] {0,4}| - )['\"]?[-+]?(?:\.?\d|[ni])"
    rb"|/(?:s|it|step|batch), -?\d+\.\d+[\]\n])"
)
"""A number behind a bar: with a name, or alone."""
_BAR_OF_SIGNS = (
    rb"\d/\d+ \[[=>.]+\] (?:- ETA: [\d:]{1,9}s?|[\d.]{1,9}m?s/step) {2,4}[A-Za-z]\w{0,40}: [-+.]?\d"
)
_BAR_OF_RICH = (
    rb"\xe2\x94\x81 {1,200}(?:\d{1,3}%% {1,4})?\d{1,9}/\d{1,9} (?:%s )?(?:\d{1,3}:\d\d|-:-)" % b"\xe2\x80\xa2"
)
_FRACTION_BEFORE_BAR = rb"(?:^|[ :=(|\r])-?\d+\.\d+(?:[eE][-+]?\d+)?(?:[^\r\n\w/][^\r\n]*)?: {1,4}\d{1,3}%\|"
DIALECT = ConsoleDialect(
    name="progress-bars",
    signature=LinearPattern(
        # the end of a terminal's line may be within a bar
        rb"(?m)(?:\||\d%) *\d+/\d+ \[\d[^\]\n]{0,200}?(?:\n[^\[\]\n]{0,200}?)?"
        + _NAMED_NUMBER
        + rb"|\d\|\d+\|Loss: [\d.]+:"
        rb"|[#\x88 ]\| {0,4}\(\d{1,9}/\d{1,9}\) [^\n]{0,200}?[Ll]oss: [-+.]?\d|"
        + alive_bars.SIGNATURE
        + rb"[^\n]{0,100}?[=:] ?[-+.]?\d|"
        + _FRACTION_BEFORE_BAR
        + rb"|[Ll]oss\w{0,40}[:=] ?[-+.]?\d[^|\n]{0,200}?(?:\|\||: |\))?: {1,4}\d{1,3}%[| ]"
        rb"|" + _BAR_OF_RICH + rb"[^\r\n]{0,400}?loss\w{0,40}: ?[-+.\dni]|" + keras_bars.SIGNATURE
    ),
    kinds=(
        LineKind(pattern=re.compile(rb"\d\|\d+\|Loss: "), parse=_torchtune),
        *alive_bars.KINDS,
        LineKind(
            pattern=re.compile(rb"/\d+ \[\d[^\]\n]{0,200}?" + _NAMED_NUMBER),
            parse=_bar,
            begin_launch=_begin_launch,
            may_begin=_may_begin,
            release=_release_all,
        ),
        LineKind(
            pattern=re.compile(rb"\d(?:it|steps?|batch(?:es)?|ba) \[\d[^\]\n]{0,200}?" + _NAMED_NUMBER),
            parse=_beyond_total,
        ),
        LineKind(
            pattern=LinearPattern(
                rb"(?i)(?:\d|train|val|test|eval)[^\r\n]*: {1,4}\d{1,3}%[| ][^\r\n]*\d/\d+(?:\.\d{1,2})? \[\d"
            ),
            parse=_bar,
        ),
        LineKind(pattern=re.compile(_BAR_OF_SIGNS), parse=_bar),
        LineKind(pattern=re.compile(_BAR_OF_RICH + rb"[^\r\n]{0,400}?loss\w{0,40}: ?[-+.\dni]"), parse=_bar),
        *keras_bars.KINDS,
    ),
)
