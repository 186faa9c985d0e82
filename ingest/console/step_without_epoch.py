"""The step of lines that name no epoch, in passes through the data of which each counts anew."""

from __future__ import annotations

from holter.ingest.console.dialect import DialectState


def step_without_epoch(step: int, total: int, state: DialectState, *, is_batch: bool) -> int:
    """The step of a line that names no epoch.

    One that begins anew behind a line of an epoch, after the end where a total says it, is of the next epoch.
    So is one after the end by itself if it is a batch, of which an epoch has so many, a batch behind an
    evaluation, or one where another launch would show itself by its opening lines; no batch behind some of
    these. Lines are as far apart as the last.
    """
    before, last, last_total, *more = state.get("laps", (0, 0, total))
    first, stride = [*more, step, 0][:2] if len(more) != 1 else (more[0], 0)
    may_begin = "may begin" in state
    is_next = "ended" in state or (total and (is_batch or "opening" in state))
    is_next = (is_next or (is_batch and "evaluated since" in state)) and not (is_batch and may_begin)
    is_begin = step <= max(first, total // 2)  # else it is that of a slower process
    ends = last_total == total and last + max(1, total // 10, stride) >= total
    if step < last and is_next and is_begin and ends:
        before += (
            total + (step == 0 and last == total) if total else last + (step == 0)
        )  # from 0 to the total has one more
    elif step < last and may_begin:
        before = 0  # nothing of the launch before counts
    stride = step - last if step > last else stride
    state["laps"] = [before, step, total, first, stride] if total else [before, step, total]
    return int(before) + step
