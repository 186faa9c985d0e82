"""Hugging Face's Trainer, TRL, Axolotl and ms-swift: a dict per log call, and progress bars."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import ceil
from zlib import crc32

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.dialects import hf_metrics, hf_setup
from holter.ingest.console.steps.known_steps import counts_steps_alone, known_axis
from holter.ingest.console.text.values import parse_number
from holter.types import labels_of

_DICT = re.compile(r"\{('[\w/() ]{1,200}': .{0,6000})\}")
_PAIR = re.compile(r"'([^']+)': ('?)([^,'}]+)\2")
_BAR = re.compile(r"^\s*\d+%(?:\|[^|]*\|)? (\d+)/(\d+) \[")
"""A bar, which notebooks print without its drawing."""
_OWN_STEPS = ("global_step/max_steps", "global_step", "step")  # ms-swift's, Paddle's; what callbacks add
_OF_A_LOG = frozenset({*_OWN_STEPS, "epoch", "loss", "eval_loss"})
_NOT_METRICS = frozenset({*_OWN_STEPS, "max_steps"})
_LOSS = "train/loss"
_RUNTIME = "train/train_runtime"
_OF_A_TRAINER = (
    "count",
    "last",
    "bar",
    "total",
    "held",
    "in bulk",
    "waiting",
    "interval",
    "ended",
    "steps per epoch",
    "epochs",
    "evaluations",
    "evaluated at",
    "late at",
    "evaluated",
    "epoch",
    "is numbered",
    "complete",
    "before",
    "loss at",
    "steps above",
    "logged",
)
"""What the state has of one Trainer."""
_MAX_WAITING = 1000
_LEAST_OF_RECORD = 4
"""Values that no two records have in common: the loss, the gradient norm, the rate and the epoch."""
_EPOCH_ERROR = 0.01
"""By which an epoch may be rounded or cut off."""
_EPOCHS_ERROR = 0.25
"""By which a computed number of epochs may differ from a whole one."""
_MAX_EVALUATIONS = 100


def _logged(line: str, state: DialectState) -> list[LineValues] | LineValues | None:
    """`{'loss': 1.5214, 'learning_rate': 1.4e-06, 'epoch': 0.01}`, from v5 on with numbers in quotes.

    The step is not in it but in the progress bar that follows; without bars the n-th record of the training
    loss is at step n, or at that of a line of the program above. Such texts also contain dicts of settings.
    """
    match = _DICT.search(line)
    if match is None:
        return None
    texts = {name: text for name, _, text in _PAIR.findall(match[1])}
    if texts.keys().isdisjoint(_OF_A_LOG) or _is_repeated(match[1], texts, state):
        return None
    own = next((parse_number(texts[name].partition("/")[0]) for name in _OWN_STEPS if name in texts), None)
    values = {
        metric_name(name): value
        for name, text in texts.items()
        if name not in _NOT_METRICS and (value := parse_number(text)) is not None
    }
    hf_metrics.note_logged([*values], state)
    left = _begin_earlier(values, state)
    if _evaluates_next(values, state):
        left = _begin_next(state)
    if _LOSS in values:
        if state.pop("ended", False) and state.get("opening"):
            left = _begin_next(state)
        state["count"] = state.get("count", 0) + 1
        if (bar := _BAR.search(line[: match.start()])) is not None:
            state["last"] = [int(bar[1]), int(bar[2])]
        _note_bar_before_record(state)
        left += _set_complete_bar_aside(state)
    if "train_runtime" in texts and _LOSS not in values:  # which TRL prints with each record
        state["ended"] = True
        left += _release_by_epochs(values.get("epoch", 0.0), state)
    if own is not None:
        return [*left, _record(int(own), values, state)]
    if "total" not in state and "complete" not in state:
        _count_evaluation(values, state)
        _count_summary(values, state)
        return [*left, _record(_step_of_count(values, state), values, state)]
    return [*left, *_defer(values, state)]


def _step_of_count(values: Mapping[str, float], state: DialectState) -> int:
    """The step of a record without a bar: its number, or where lines of the program count steps, the last.

    They do if one was above the first record: `Loss at step 10: 2.3`.
    """
    count, axis = int(state.get("count", 0)), known_axis(state)
    if count == 1 and _LOSS in values:
        state["steps above"] = "step" in axis and counts_steps_alone(axis)
    return int(axis["step"]) if state.get("steps above") and "step" in axis else count


def _count_evaluation(values: Mapping[str, float], state: DialectState) -> None:
    """Count an evaluation as a record, if the one before is of an earlier epoch and no loss is between."""
    if _LOSS in values or "epoch" not in values or state.get("ended"):
        return
    count, epoch = state.get("evaluated", (None, 0.0))
    if count == state.get("count", 0) and values["epoch"] > epoch + _EPOCH_ERROR:
        state["count"] = count + 1
    state["evaluated"] = [state.get("count", 0), values["epoch"]]


def _count_summary(values: Mapping[str, float], state: DialectState) -> None:
    """Count the summary at the end as a record, if it has values of its own epoch that the last one has, too.

    TRL adds its entropy and accuracy to both; those of the summary are of the steps behind the last record.
    """
    names, epoch = state.get("logged", ((), 0.0))
    if _LOSS in values:
        state["logged"] = [[*values], values.get("epoch", 0.0)]
    elif _RUNTIME in values and values.get("epoch", 0.0) > epoch:
        state["count"] = state.get("count", 0) + any(name in names for name in values if name != "epoch")


def _note_bar_before_record(state: DialectState) -> None:
    """Take the last bar for that of the training: earlier ones were those of loading or evaluating.

    Later ones that are complete are so, too. Records without any bar between them are numbered.
    """
    at, total = state.get("last", (0, None))
    if "complete" in state:
        return
    if total is not None and total != state.get("total") and (state["count"] == 1 or at < total):
        state["bar"], state["total"] = at, total
    state["is numbered"] = "total" not in state and state["count"] > 1


def _set_complete_bar_aside(state: DialectState) -> list[LineValues]:
    """Await another bar where the only one was complete before the first record.

    It is that of an evaluation before the training, or the training's, whose records come in bulk behind it.
    Returns the values of that evaluation.
    """
    if state["count"] != 1 or "total" not in state or state.get("bar") != state["total"]:
        return []
    state["complete"], state["in bulk"] = state.pop("total"), True
    held = state.pop("held", None)
    return [_record(0, held, state)] if held else []


def _is_of_training(step: int, total: int, state: DialectState) -> bool:
    """Whether a bar is that of the training, where another one was complete before the first record.

    It is if it is as far as the records are, or the same bar again behind the one record of an epoch.
    """
    count: int = state["count"]
    if total != state["complete"]:
        is_of_training = count <= step
    else:
        is_of_training = count == 1 and step < total
        if is_of_training:
            state["bar"], state["interval"] = total, total
    if is_of_training:
        state["total"] = total
        del state["complete"]
    return is_of_training


def _is_repeated(text: str, texts: Mapping[str, str], state: DialectState) -> bool:
    """Whether the line before was the same: a program may print what its logger prints, too."""
    if len(texts) < _LEAST_OF_RECORD or "epoch" not in texts:
        return False
    before, state["line"] = state.get("line"), crc32(text.encode(errors="surrogatepass"))
    return bool(before == state["line"])


def _begin_earlier(values: Mapping[str, float], state: DialectState) -> list[LineValues]:
    """Begin the next launch where the epoch of a loss goes back and no bar states at which step.

    Returns the records of the one before that wait for a bar.
    """
    if _LOSS not in values or "epoch" not in values:
        return []
    last, state["epoch"] = state.get("epoch", 0.0), values["epoch"]
    is_next = state.get("ended") and state.get("opening")  # another Trainer of the same launch
    if "total" in state or is_next or values["epoch"] >= last - _EPOCH_ERROR:
        return []
    left = _release(state)
    _end(state)
    return left


def _evaluates_next(values: Mapping[str, float], state: DialectState) -> bool:
    """Whether an evaluation behind the end of a Trainer is of an earlier epoch: the next one has begun."""
    if _LOSS in values or "epoch" not in values or not (state.get("ended") and state.get("opening")):
        return False
    return bool(values["epoch"] < state.get("epoch", 0.0) - _EPOCH_ERROR)


def _begin_next(state: DialectState) -> list[LineValues]:
    """Begin the next Trainer of the same launch: the opening lines of the program did not come again.

    Returns the records of the one before that wait for a bar.
    """
    last, left = state.get("last"), _release(state)
    _end(state)
    state["trainer"] = state.get("trainer", 1) + 1
    if last is not None and last[0] < last[1]:
        state["last"] = last
    return left


def _end(state: DialectState) -> None:
    """Forget the position of a Trainer."""
    for name in _OF_A_TRAINER:
        state.pop(name, None)


def _begin_launch(state: DialectState) -> None:
    """Forget all Trainers."""
    _end(state)
    state.pop("trainer", None)


def _record(step: int, values: dict[str, float], state: DialectState) -> LineValues:
    """A record of the Trainer that is running; the first one of a launch has no label."""
    number = state.get("trainer", 1)
    if "epoch" in values:
        if _LOSS in values:
            state["loss at"] = [values["epoch"], step]
        else:
            step = _not_before_loss(step, values["epoch"], state)
    return LineValues(step, values, labels=labels_of({"trainer": str(number)}) if number > 1 else None)


def _not_before_loss(step: int, epoch: float, state: DialectState) -> int:
    """The step of an evaluation behind a loss, of which its epoch is known to two digits alone."""
    known, at = state.get("loss at", (0.0, 0))
    return max(step, int(at)) if epoch >= known else step


def _defer(values: dict[str, float], state: DialectState) -> list[LineValues]:
    """Retain a record until the next bar shows its step; one still retained by then is at the last bar.

    Where training losses follow each other without a bar, records and bars came through buffers of their own,
    or bars are rare: these records wait for the next bar of the training. After the last bar, a record's step
    is its number.
    """
    _note_epochs(values, state)
    before = state.get("held", {})
    if (step := _step_by_epoch(values, state)) is not None:
        state["late at"] = state.get("bar", 0)
        return [*_release_late(values, state), _record(step, values, state)]
    if state.get("in bulk"):
        return _wait([values], state)
    if before == values and len(values) >= _LEAST_OF_RECORD:  # another process prints the same
        state["count"] -= _LOSS in values
        return []
    if _LOSS in before and _LOSS in values:
        state["in bulk"] = True
        del state["held"]
        return _wait([before, values], state)
    if before.keys() & values.keys():
        state["held"] = values
        number = state.get("count", 0) - (_LOSS in values)
        return [_record(_step_of_held(before, number, state), before, state)]
    state["held"] = before | values
    return []


def _note_evaluation(at: int, total: int, state: DialectState) -> None:
    """Note at which bar of the training a bar without a name was complete: most likely an evaluation's."""
    bar, drawn = state.get("bar", 0), state.setdefault("evaluations", [])
    if at == total and bar and bar != state.get("evaluated at") and len(drawn) < _MAX_EVALUATIONS:
        drawn.append(bar)
        state["evaluated at"] = bar


def _note_epochs(values: Mapping[str, float], state: DialectState) -> None:
    """Note how many epochs the training has where an evaluation is printed long after its bar was drawn.

    The buffer of the records came late if several epochs are stated at one bar, or none was before.
    """
    epoch, bar = values.get("epoch"), state.get("bar", 0)
    if epoch is None or state.get("ended") or "before" in state:
        return
    if _LOSS not in values and state.get("evaluated", [0, 0.0])[1] != epoch:
        drawn: list[int] = state.get("evaluations") or []
        state["evaluated"] = [drawn.pop(0) if drawn else bar, epoch]
        state["evaluated at"] = max(bar, state.get("evaluated at", 0))
    at, evaluated = state.get("evaluated", (0, 0.0))
    if "epochs" in state or not 0 < at < bar or not _states_other_epoch(epoch, state):
        return
    epochs = _total(state) * evaluated / at
    if abs(epochs - round(epochs)) < min(_EPOCHS_ERROR, epochs * _EPOCH_ERROR):
        state["epochs"] = round(epochs)


def _states_other_epoch(epoch: float, state: DialectState) -> bool:
    """Whether records behind the last bar are of another epoch than this one, or there was no loss before."""
    records = [state.get("held", {}), *(values for _, values in state.get("waiting", ()))]
    return not state.get("count") or any(
        abs(values.get("epoch", epoch) - epoch) > _EPOCH_ERROR for values in records
    )


def _step_by_epoch(values: Mapping[str, float], state: DialectState) -> int | None:
    """The step of the latest record if it was printed long after its epoch: a buffer came late."""
    epoch, bar = values.get("epoch"), state.get("bar", 0)
    epochs: int | None = state.get("epochs")
    per_epoch = _steps_of_epoch(state)
    if per_epoch is None or epoch is None:
        return None
    step = round(epoch * per_epoch)
    if not epochs:
        return step if _LOSS not in values and bar - step > per_epoch / 2 else None
    is_late = bar - step > _EPOCH_ERROR * (step + 2 * per_epoch)
    if epoch > epochs or not (
        is_late or state.get("late at") == bar
    ):  # what is behind one that came late is so
        return None
    return _step_at_epoch(values, per_epoch, state.get("count", 0))


def _steps_of_epoch(state: DialectState) -> float | None:
    """The steps of an epoch, of which the whole training has so many, or as records that came late show."""
    epochs: int | None = state.get("epochs")
    per_epoch: float | None = _total(state) / epochs if epochs else state.get("steps per epoch")
    return per_epoch


def _total(state: DialectState) -> int:
    """The steps of the training by its bar, which may have been complete before the first record."""
    return int(state.get("total") or state.get("complete") or 0)


def _step_at_epoch(values: Mapping[str, float], per_epoch: float, number: int) -> int:
    """The step of a record by its epoch.

    Losses are logged at multiples of an interval; `number` of them are up to this record.
    """
    is_loss = _LOSS in values and number > 0
    interval = _interval_at_epoch(values["epoch"], per_epoch, number) if is_loss else None
    return number * interval if interval else round(values["epoch"] * per_epoch)


def _release_late(following: Mapping[str, float], state: DialectState) -> list[LineValues]:
    """The records that wait before one that came late: so did these, however many steps they are behind."""
    per_epoch, records = _steps_of_epoch(state), [*state.get("waiting", ())]
    if "held" in state:
        records.append([state.get("count", 0) - (_LOSS in following), state["held"]])
    if per_epoch is None or any("epoch" not in values for _, values in records):
        return []
    for name in ("waiting", "held", "in bulk"):
        state.pop(name, None)
    return _place(records, state)


def _step_of_held(values: Mapping[str, float], number: int, state: DialectState) -> int:
    """The step of a record that was held until the next one: the last bar's, if it is not known to be late.

    `number` losses are up to this record.
    """
    bar: int = state.get("bar", 0)
    epoch, per_epoch = values.get("epoch"), _steps_of_epoch(state)
    if "epochs" not in state or per_epoch is None or epoch is None:
        return bar
    step = _step_at_epoch(values, per_epoch, number)
    if _LOSS not in values:
        return step if step < bar - _EPOCH_ERROR * per_epoch else bar
    interval = _interval_at_epoch(epoch, per_epoch, number) if number else None
    if interval is None or (bar % interval == 0 and bar - step <= interval):
        return bar
    return min(step, bar)


def _place(records: Sequence[tuple[int, dict[str, float]]], state: DialectState) -> list[LineValues]:
    """Records at multiples of the interval of losses, or by their epochs, else at their numbers."""
    per_epoch = _steps_of_epoch(state)
    interval = state.get("interval") or _interval_by_epoch(records, state)
    placed: list[LineValues] = []
    for number, values in records:
        step = number * (interval or 1)
        if per_epoch is not None and "epoch" in values and (_LOSS not in values or not interval):
            # what is printed behind a loss is not before it
            step = max(round(values["epoch"] * per_epoch), *(record.step for record in placed[-1:]), 0)
        placed.append(_record(step, values, state))
    return placed


def _last_loss(records: Sequence[tuple[int, dict[str, float]]]) -> tuple[int, dict[str, float]]:
    """The last of some records with a loss, and how many there were up to it."""
    return next((record for record in reversed(records) if _LOSS in record[1]), (0, {}))


def _interval_by_epoch(records: Sequence[tuple[int, dict[str, float]]], state: DialectState) -> int | None:
    """The interval of losses that wait, by the epoch of the last one and the steps of an epoch."""
    number, values = _last_loss(records)
    per_epoch = _steps_of_epoch(state)
    if per_epoch is None or not number or "epoch" not in values:
        return None
    # the steps of an epoch are as exact as the epoch from which they are known
    epoch, known = values["epoch"], state.get("loss at", [0.0])[0]
    error = _EPOCH_ERROR if "epochs" in state or not known else _EPOCH_ERROR * (1 + epoch / known)
    return _interval_at_epoch(epoch, per_epoch, number, error)


def _interval_at_epoch(
    epoch: float, per_epoch: float, number: int, error: float = _EPOCH_ERROR
) -> int | None:
    """The roundest interval of losses of which so many were logged up to an epoch."""
    low, high = ((epoch + error) * per_epoch / number for error in (-error, error))
    return _roundest(ceil(low), int(high))


def _note_epoch(step: int, values: dict[str, float], state: DialectState) -> None:
    """Note how many steps an epoch has, as the latest of some records that came late shows."""
    if values.get("epoch", 0) > 0:
        state["steps per epoch"] = step / values["epoch"]


def _wait(records: list[dict[str, float]], state: DialectState) -> list[LineValues]:
    """Records without a bar between them: at their numbers, or at multiples of a known interval."""
    count = state["count"] - sum(_LOSS in values for values in records)
    numbered = []
    for values in records:
        count += _LOSS in values
        numbered.append((count, values))
    if state.get("interval") is None and not state.get("ended"):
        state.setdefault("waiting", []).extend([number, values] for number, values in numbered)
        return _release(state) if len(state["waiting"]) > _MAX_WAITING else []
    return _place(numbered, state)


def _release(state: DialectState) -> list[LineValues]:
    """The records that wait for a bar: at multiples of a known interval, else at their numbers.

    Behind others that came late they have epochs as long as those.
    """
    waiting = state.pop("waiting", ())
    records = _place(waiting, state)
    if records:
        _note_epoch(records[-1].step, waiting[-1][1], state)
    held = state.pop("held", None)
    if not held:
        return records
    step = _step_by_epoch(held, state) or _step_of_last_loss(held, state)
    step = step or state.get("bar", 0)
    if _LOSS in held and state.get("interval"):  # bars are rarer than records
        step = state["interval"] * state["count"]
    return [*records, _record(step, held, state)]


def _step_of_last_loss(values: dict[str, float], state: DialectState) -> int:
    """The step of an evaluation where the next bar is of a later epoch: that of the loss at its own epoch."""
    epoch, step = state.get("loss at", (0.0, 0))
    if _LOSS in values or not epoch or values.get("epoch") != epoch:
        return 0
    is_later = (state.get("bar", 0) / step - 1) * epoch > 2 * _EPOCH_ERROR if step else False
    return int(step) if is_later else 0


def _release_by_epochs(epochs: float, state: DialectState) -> list[LineValues]:
    """The records that came in bulk, by their epochs and those of the complete training."""
    waiting, total = state.get("waiting", ()), _total(state)
    if not waiting:
        return []
    number, values = _last_loss(waiting)
    epoch = values.get("epoch", 0.0)
    if total and number and 0 < epoch <= epochs and state.get("interval") is None:
        state["interval"] = _interval_at_epoch(epoch, total / epochs, number)
    return _release(state)


def _interval(step: int, records: int) -> int | None:
    """The steps between two of so many records that were printed up to a step: the roundest that fits.

    The bar of a step is drawn before its record, which may be left in a buffer.
    """
    return _roundest(ceil(step / (records + 1)), step // records)


def _roundest(low: int, high: int) -> int | None:
    """The roundest number between two, None if there is none."""
    for unit in (1000, 500, 100, 50, 25, 20, 10, 5, 1):
        if low <= high // unit * unit:
            return high // unit * unit
    return None


def metric_name(name: str) -> str:
    """The name that the Trainer gives a value in TensorBoard."""
    if name == "epoch":
        return name
    for split in ("eval", "test"):
        if name.startswith(f"{split}_"):
            return f"{split}/{name.removeprefix(f'{split}_')}"
    return f"train/{name}"


def _bar(line: str, state: DialectState) -> list[LineValues] | None:
    """A bar of the training; the bars of evaluations have other lengths."""
    match = _BAR.search(line)
    if match is None or state.get("is numbered"):
        return None
    state["last"] = [step, total] = [int(match[1]), int(match[2])]
    if "complete" in state and not _is_of_training(step, total, state):
        return None
    if state.setdefault("total", total) != total:
        _note_evaluation(step, total, state)
        return None
    if state.get("ended") and state.get("opening") and step < state.get("bar", 0):
        return None  # the next Trainer, whose first record begins it
    count, left = state.get("count", 0), []
    step += state.get("before", 0)
    if count and not state.get("ended") and step < state.get("bar", 0) == state.get("before", 0) + total:
        left = _release(state)  # a bar of each epoch
        state["before"] = state["bar"]
        step += total
    state["bar"] = step
    if state.pop("in bulk", False) and step and count:
        state["interval"] = _interval(step, count) if "waiting" in state else state.get("interval")
    interval = state.get("interval") or 0
    if not interval * count <= step <= interval * (count + 1):
        state.pop("interval", None)
    return [*left, *_release(state)]


DIALECT = ConsoleDialect(
    name="hf-trainer",
    signature=re.compile(
        rb"(?:\{'(?:loss|eval_loss)'|(?:^|[^=])\{'[^{}\n]{0,8000}, 'loss'): '?[\d.naif-]+'?, '"
        # a Trainer states where it is: other dicts are the program's own
        rb"(?:[^{}\n]{0,8000}, ')?(?:epoch|(?:global_)?step[/\w]{0,20})': |" + hf_metrics.SIGNATURE
    ),
    kinds=(
        LineKind(
            pattern=re.compile(rb"\{'[\w/() ]+': "),
            parse=_logged,
            begin_launch=_begin_launch,
            release=_release,
        ),
        LineKind(pattern=re.compile(rb" \[(?:\d{1,3}:)?\d\d:\d\d"), parse=_bar),
        *hf_metrics.KINDS,
        *hf_setup.KINDS,
    ),
)
