"""The step of a line of an evaluation, whose batches are not those of the training.

A heading announces it, or its batches have another total and begin anew behind the end of an epoch.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from zlib import crc32

from holter.ingest.console.dialect import DialectState
from holter.ingest.console.line.data_names import is_of_evaluation
from holter.ingest.console.line.line_counters import Counter
from holter.ingest.console.steps.evaluated_parts import has_results
from holter.ingest.console.steps.evaluation_passes import NO_PASS_BELOW, pass_at_last_step, step_in_pass
from holter.ingest.console.steps.known_steps import EVALUATES_ALONE, end_of_epoch, has_steps, number_of_epoch
from holter.ingest.console.steps.launch_beginnings import is_before_training
from holter.ingest.console.steps.line_counts import Counts, inner_count
from holter.ingest.console.steps.stated_names import has_means

_NEARLY_ALL = 5
"""The last line of an epoch may be a fifth of its batches before its end, as lines are rarer than batches."""

_OF_ALL_STEPS = {Counter.GLOBAL_STEP, Counter.EPOCH}
"""What places a line among all steps of the training."""
_NO_PASSES = {"announced", "epoch", "may begin", "bar", NO_PASS_BELOW}
"""What lines above may have shown: epochs, opening lines again, a training below headings of evaluations."""
_MOST_EVALUATIONS = 64
_LEAST_ALONE = 2
"""Steps with one evaluation each, after which a second one at a step is at another step."""


def evaluated_batch(counts: Counts, names: Collection[str], state: DialectState) -> str:
    """The data of an evaluation whose batches are counted: their total is not that of the training.

    A heading announced it, or they begin anew within an epoch behind its end. Below a heading, the step of
    the training again is of the evaluation as well, with values of these names, and so are batches that name
    no epoch where those of the training do, batches with a total where lines of the training count steps
    without one, another pass of as many batches as the training has, and, where nothing names an epoch, the
    first pass below the heading (`is_own_pass`).
    """
    if alone := state.get(EVALUATES_ALONE):
        return str(alone)
    inner = inner_count(counts)
    data: str = state.get("evaluating", "")
    if data and (repeats_step(counts, names, state) or lacks_epoch(counts, state)):
        return data
    if data and (_has_batches_below_steps(counts, state) or _is_pass_below(counts, state)):
        return data
    if data and is_own_pass(counts, names, state):
        return data
    if inner is None or not inner[1] or "total" not in state:
        return ""
    if inner[1] == state["total"]:
        return "eval" if not data and begins_pass(counts, names, state) else ""
    epoch = counts.get(Counter.EPOCH)
    if epoch is None and inner[1] < state["total"]:  # more batches are those of another launch
        epoch = state.get("announced")
    if not data and epoch is not None and _is_behind_epoch(int(epoch[0]), inner, state):
        state["evaluated"] = inner[1]
        return "eval"
    return data


def lacks_epoch(counts: Counts, state: DialectState) -> bool:
    """Whether a line counts batches or steps alone, where those of the training name their epoch as well."""
    is_counted = inner_count(counts) is not None and counts.keys().isdisjoint(_OF_ALL_STEPS)
    return is_counted and bool(state.get("names epochs"))


def _has_batches_below_steps(counts: Counts, state: DialectState) -> bool:
    """Whether a line counts batches of so many, and the training is steps that no line has a total of."""
    is_batch = counts.keys() == {Counter.BATCH} and counts[Counter.BATCH][1] > 0
    return is_batch and state.get("alone") is True and "total" not in state and "laps" in state


def _is_pass_below(counts: Counts, state: DialectState) -> bool:
    """Whether a line below the heading of an evaluation counts up to the total of the training again.

    So it is behind the end in the same epoch, or where headings show when the training continues.
    """
    inner = inner_count(counts)
    if inner is None or not inner[1] or inner[1] != state.get("total") or Counter.EPOCH in counts:
        return False
    if "announced" in state:
        return inner[0] <= _end_of_epoch(counts, inner[1], state)
    last = int(state.get("laps", {}).get("step", 0)) if "headed training" in state else 0
    return inner[0] <= last and _is_end(last, inner[1])


def is_own_pass(counts: Counts, names: Collection[str], state: DialectState) -> bool:
    """Whether a line is of the first pass below the heading of an evaluation, where nothing names an epoch.

    It begins anew behind the training, with the same names and no result of the evaluation above it. Where
    batches begin anew once more the training continues, as in logs with nothing but `Evaluating...` between.
    """
    inner = inner_count(counts)
    if inner is None or not _OF_ALL_STEPS.isdisjoint(counts) or not _NO_PASSES.isdisjoint(state):
        return False
    trained = int(state.get("laps", {}).get("step", 0))
    if inner[1] != state.get("total", 0) or inner[0] > trained:  # what continues there is the training
        return False
    stored = pass_at_last_step(state["evaluating"], state)
    if stored is not None:
        batch, of_pass = stored
        return inner[0] > batch or (inner[0] == batch and of_pass.isdisjoint(names))
    if "evaluated above" in state or not {*names} <= {*state.get("names", ())}:
        return False
    return inner[0] < trained


def begins_pass(counts: Counts, names: Collection[str], state: DialectState) -> bool:
    """Whether a line with values of these names is of a second pass within an epoch, or continues in one."""
    inner = inner_count(counts)
    if inner is None or "may begin" in state or is_before_training(state):
        return False  # a launch that has only evaluated so far continues the epoch of the one before
    if inner[0] > _end_of_epoch(counts, inner[1], state):
        return False
    is_first = inner[0] <= state.get("first of epoch", 0) and inner[0] < state["epoch"][1]
    return bool(state.get("split")) or (is_first and not {*names}.isdisjoint(state.get("names", ())))


def _end_of_epoch(counts: Counts, total: int, state: DialectState) -> int:
    """The last batch of so many of this epoch, once it has ended; else -1.

    The line counts the epoch itself, or a heading has announced it once.
    """
    number, last = state.get("epoch", (None, 0))
    if Counter.EPOCH in counts:
        is_same = counts[Counter.EPOCH][0] == number
    else:
        is_same = state.get("announced", (-1,))[0] == number and state.get("headings", 1) == 1
    return int(last) if is_same and total > 0 and _is_end(int(last), total) else -1


def _is_end(step: int, total: int) -> bool:
    """Whether a step is that of the last line of an epoch, as lines are rarer than batches."""
    return step + max(1, total // _NEARLY_ALL) >= total


def counts_own_batches(counts: Counts, state: DialectState) -> bool:
    """Whether a line of an evaluation counts its own batches, from anew within the epoch of the training."""
    inner = inner_count(counts)
    if Counter.BATCH in counts and lacks_epoch(counts, state):
        return True
    epoch, (last, step) = counts.get(Counter.EPOCH), state.get("epoch", (None, 0))
    return inner is not None and epoch is not None and epoch[0] == last and inner[0] < step


def counts_evaluated(counts: Counts, state: DialectState) -> bool:
    """Whether a line without values counts what was evaluated so far: a step that the training has passed.

    One of another launch may be before the last one as well.
    """
    step, last = counts.get(Counter.STEP), state.get("step")
    is_passed = counts.keys() == {Counter.STEP} and step is not None and last is not None and step[0] < last
    return is_passed and "may begin" not in state


def repeats_step(counts: Counts, names: Collection[str], state: DialectState) -> bool:
    """Whether a line counts nothing but the last step of the training again.

    Where lines count nothing but epochs, it has the last one and the same names again: `Epoch 3 loss = 0.5`
    below `Validation`. Behind batches so is the first line below the heading of an evaluation.
    """
    if len(counts) != 1 or "step" not in state:
        return False
    [(counter, (number, total))] = counts.items()
    if counter is Counter.EPOCH:
        number = number_of_epoch(number, state)
        if has_steps(state):
            return _is_first_below(number, names, state)
        is_last = number == state["step"] == state.get("names at")
        return is_last and {*names} <= {*state["names"]}
    return counter in (Counter.GLOBAL_STEP, Counter.STEP) and not total and number == state["step"]


def _is_first_below(epoch: int, names: Collection[str], state: DialectState) -> bool:
    """Whether the line of an epoch is the first one below the heading of an evaluation, with known names.

    Behind results it has the means of the training, as where evaluations name their data themselves, unless
    a line above has had them.
    """
    last = state.get("announced") or state.get("epoch") or (None, 0)
    is_first = last[0] == epoch and (has_means(names, state["step"], state) or not has_results(state))
    return (
        is_first and not {*names}.isdisjoint(state.get("names", ())) and not any(map(is_of_evaluation, names))
    )


def _is_behind_epoch(number: int, inner: tuple[int, int], state: DialectState) -> bool:
    """Whether batches follow the end of this epoch: they begin anew, or such were seen before."""
    last, step = state.get("epoch", (None, 0))
    is_known = inner[1] == state.get("evaluated")
    ended = _is_end(int(step), int(state["total"]))
    return bool(number == last and (is_known or (ended and inner[0] < step)))


def is_passed(counts: Counts, state: DialectState) -> bool:
    """Whether a line counts nothing but a step that the progress bars of the training have passed."""
    step, total = counts.get(Counter.STEP, (0, 0))
    return len(counts) == 1 and "bar" in state and not total and 0 < step < int(state["step"])


def step_of_next(template: int, step: int, values: Mapping[str, float], state: DialectState) -> int:
    """The step of values that count nothing: behind those in the same words with other values.

    So it is where there was one per step before: an evaluation at the end of an epoch is behind steps that
    were not printed, the final results are behind the last step. Several at each step are of several data.
    """
    lines: dict[str, list[Any]] = state.setdefault("evaluation lines", {})
    if str(template) not in lines and len(lines) >= _MOST_EVALUATIONS:
        return step
    digest = crc32(repr([*values.items()]).encode(errors="replace"))
    last, before, number, alone = lines.get(str(template), [step - 1, digest, 0, 0])
    if last != step:
        lines[str(template)] = [step, digest, 1, alone + 1 if number == 1 else alone]
        return step
    if digest != before:
        number += 1
        is_next = bool(alone >= _LEAST_ALONE)
        lines[str(template)] = [step, digest, number, alone if is_next else 0]
        return step + is_next
    return step


def begin_evaluation(data: str, state: DialectState) -> None:
    """Note that a launch begins that trains nothing and evaluates models on this data."""
    state["evaluating"] = state[EVALUATES_ALONE] = data


def _note_evaluated_epoch(counts: Counts, state: DialectState) -> None:
    """Note the last step of the epoch behind which the model was saved that this line evaluates, if known."""
    if Counter.EPOCH in counts and "step" in state:
        end = end_of_epoch(counts[Counter.EPOCH][0], state)
        state["step"] = state["step"] if end is None else end


def evaluation_step(counts: Counts, data: str, names: Sequence[str], state: DialectState) -> int | None:
    """The step of a line of an evaluation of some data, whose batches are not those of the training.

    It is the global step if the line has it, or a step without a total that is not before the last one of the
    training; else the last step of the training, or those behind it (`evaluation_passes`). Without any, what
    the line counts is noted for those below.
    """
    if Counter.GLOBAL_STEP in counts:
        return counts[Counter.GLOBAL_STEP][0]
    if EVALUATES_ALONE in state:
        _note_evaluated_epoch(counts, state)
    last = state.get("step")
    step, total = counts.get(Counter.STEP, (None, 0))
    if step is not None and not total and Counter.EPOCH not in counts and (last is None or step >= last):
        return step
    epoch = counts.get(Counter.EPOCH)
    if epoch is not None:
        epoch = (number_of_epoch(epoch[0], state), epoch[1])
        is_earlier = last is not None and epoch[0] < last and len(counts) == 1 and not has_steps(state)
        if is_earlier and is_before_training(state):  # a launch that evaluates a model of its own
            del state["step"]
            last = None
    if last is not None:
        # before the line of the training at the same epoch, where lines count nothing but epochs
        is_next = epoch is not None and len(counts) == 1 and not has_steps(state) and epoch[0] > last
        if epoch is not None and is_next:
            return epoch[0]
        inner = inner_count(counts)
        if inner is None or not (has_steps(state) or "alone" in state):
            return int(last)
        return step_in_pass(inner[0], names, data, int(last), state)
    if epoch is not None:
        step = epoch[0]
    elif step is None and Counter.OTHER in counts:  # `Eval num_timesteps=250000` beside tables
        step = counts[Counter.OTHER][0]
    if step is not None:
        state["evaluated at"] = step
    return step
