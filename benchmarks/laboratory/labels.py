"""The truth of a run: what follows from the mechanism, and from the comparison with the fault-free twin.

The difference d between the logged loss and that of the twin (same seed, same batches) is the effect of the
fault alone, so that neither a detector nor an eye decides what happened.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laboratory.plan import replay_of
from laboratory.recording import Recording, logged
from laboratory.timings import slow_rank

Values = NDArray[np.float64]
Event = dict[str, Any]

VISIBLE = 5.0
"""Standard errors of a mean of d. Normal noise exceeds 5 in the mean of one of six windows at one point in
600,000; a limit of 4 would ask for two false alarms in 10,000 points. Weaker events are ambiguous."""
VISIBLE_REPLAY = 8.0
"""Standard errors of the correlation with the first pass, for one who knows the lag. All lags and looks
of a search cost 5.6 to 7."""
WINDOWS = (1, 3, 8, 20, 60)
"""Rows."""
FAST_UNTIL, SLOW_FROM = 60, 160
"""Steps until the loss is back; between them either class is right (the definition's limit is 100)."""
SUDDEN_UNTIL, GRADUAL_FROM = 30, 100
"""Steps from leaving the trend to half of the rise; between them a spike or a divergence is right."""
OTHERS_SHARE = 0.3
"""Share of the standard errors of one dataset's rise up to which another one has not risen."""


def label(recording: Recording) -> list[Event]:
    """The events of a run, in the order of their first steps."""
    plan = recording.plan
    attempt = len(recording.attempts) - 1
    family = plan.mechanism.family
    events = natural_rises(recording)
    if family == "throughput":
        events.append(_speed_event(recording, attempt))
    elif family == "straggler":
        events.append(_rank_event(recording))
    elif family == "replay":
        events.append(_replay_event(recording))
    elif family != "healthy":
        events += _loss_events(Comparison.of(recording, attempt), family)
    return sorted(events, key=lambda event: event["start_step"])


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison:
    """The rows of the attempt with the fault, from its first step on, next to those of the twin."""

    recording: Recording
    attempt: int
    step: Values
    loss: Values
    d: Values
    """The loss less that of the twin."""
    norm: Values
    sigma: float
    """The noise of a row of the twin."""
    level: float
    """The twin's loss in the hundred steps before the fault."""
    tolerance: float
    """Of d, within which the loss counts as back: .35 sigma, or 2 % of the progress made so far."""

    @staticmethod
    def of(recording: Recording, attempt: int, column: str = "loss") -> Comparison:
        """The comparison of one column of the losses."""
        plan = recording.plan
        run = logged(recording.attempts[attempt], plan.habit)
        twin = logged(recording.twin, plan.habit)
        known = np.isin(run["step"], twin["step"]) & (run["step"] >= plan.fault_step)
        step = run["step"][known]
        place = np.searchsorted(twin["step"], step)
        before = twin["step"] < plan.fault_step
        sigma = noise_of(twin[column], int(before.sum()))
        recent = twin[column][before & (twin["step"] >= plan.fault_step - 100)]
        level = float(recent.mean())
        progress = float(twin[column][: max(3, 20 // plan.habit.every)].mean()) - level
        with np.errstate(invalid="ignore"):
            d = run[column][known] - twin[column][place]
        return Comparison(
            recording=recording,
            attempt=attempt,
            step=step,
            loss=run[column][known],
            d=d,
            norm=run["grad_norm"][known],
            sigma=sigma,
            level=level,
            tolerance=max(0.35 * sigma, 0.02 * progress),
        )

    def rows(self, steps: int) -> int:
        """How many rows so many steps have, at least one."""
        return max(1, round(steps / self.recording.plan.habit.every))


def noise_of(loss: Values, place: int) -> float:
    """The robust noise of rows around a place: of the deviations from the medians of 15 rows."""
    part = loss[max(0, place - 250) : place + 250]
    windows = np.lib.stride_tricks.sliding_window_view(part, 15)
    return float(1.4826 * np.median(np.abs(part[7:-7] - np.median(windows, axis=1))) * np.sqrt(15 / 14))


def visibility(d: Values, sigma: float, windows: tuple[int, ...] = WINDOWS) -> float:
    """The largest mean of d over windows of rows, in its standard errors."""
    return max(
        (float(moving_mean(d, width).max() * np.sqrt(width) / sigma) for width in windows if width <= len(d)),
        default=0.0,
    )


def moving_mean(values: Values, width: int) -> Values:
    """Means of `width` values, at the place of the first one."""
    sums = np.concatenate(([0.0], np.cumsum(values)))
    return (sums[width:] - sums[:-width]) / width


def _loss_events(found: Comparison, family: str) -> list[Event]:
    if family == "dataset":
        return [_dataset_event(found)]
    finite = np.isfinite(found.loss)
    is_bad = ~finite | ~np.isfinite(found.norm)
    first_bad = int(np.argmax(is_bad)) if is_bad.any() else len(is_bad)
    events = []
    if family == "nonfinite":
        if not is_bad.any():
            return [_event(found, "nan", ambiguous="no row is written while it lasts")]
        return [_nonfinite_event(found, is_bad)]
    bad = int(np.argmax(~finite)) if (~finite).any() else len(finite)
    if bad < 5:
        return [_nonfinite_event(found, is_bad) | {"accept": list(_OF_LOSS)}]
    events.append(_rise(found, found.d[:bad], found.step[:bad], family, ends_nonfinite=bad < len(finite)))
    if first_bad < len(is_bad):
        events.append(_nonfinite_event(found, is_bad))
    return events


_OF_LOSS = ("spike_fast", "spike_slow", "spike_unrecovered", "divergence", "resume_artifact")


def _rise(found: Comparison, d: Values, step: Values, family: str, *, ends_nonfinite: bool) -> Event:
    """The event of a loss that left the twin's: its class by how it rose and whether it came back."""
    windows = (*WINDOWS, 150) if family in ("divergence", "resume") else WINDOWS
    z = visibility(d, found.sigma, windows)
    shape = RiseShape.of(found, d, step, ends_nonfinite=ends_nonfinite)
    kind, accept, doubt = shape.classify()
    if family == "resume":
        accept = (*_OF_LOSS,) if shape.onset - found.recording.plan.fault_step > 100 else ()
        kind, doubt = "resume_artifact", ""
    if z < VISIBLE:
        doubt = f"not visible: {z:.1f} standard errors"
    end = int(step[-1]) if family == "resume" and shape.recovered is None else shape.recovered
    extra: Event = {"onset_step": shape.onset} if shape.onset - step[0] > 10 * found.rows(1) else {}
    dataset = _only_dataset(found)
    return _event(
        found,
        kind,
        ambiguous=doubt,
        accept=[each for each in accept if each != kind],
        peak_step=int(shape.peak),
        end_step=end,
        recovered_step=shape.recovered,
        visibility=round(z, 1),
        params={} if dataset is None else {"dataset": dataset},
        **{name: int(value) for name, value in extra.items()},
    )


def _only_dataset(found: Comparison) -> str | None:
    """The dataset whose loss alone rose, of those that are logged apart: a fault that moves a share of each
    batch may move the examples of one dataset only."""
    risen = sorted((z, name) for name, z in _visibility_of_datasets(found).items())
    if len(risen) < 2 or risen[-1][0] < VISIBLE or risen[-2][0] > OTHERS_SHARE * risen[-1][0]:
        return None
    return risen[-1][1]


def _visibility_of_datasets(found: Comparison) -> dict[str, float]:
    """The standard errors by which the loss of each dataset rose, as far as its rows are finite."""
    result = {}
    for name in found.recording.plan.datasets:
        each = Comparison.of(found.recording, found.attempt, f"loss/{name}")
        finite = np.isfinite(each.d)
        result[name] = visibility(
            each.d[: len(finite) if finite.all() else int(np.argmin(finite))], each.sigma
        )
    return result


@dataclass(frozen=True, kw_only=True)
class RiseShape:
    """Steps at which d leaves the tolerance for good reason, peaks, and is back (None: never)."""

    start: int
    onset: int
    peak: int
    rise_steps: int
    recovered: int | None
    old_level: int | None
    """When the loss was back at the level before the fault, though not at that of the twin."""
    residual: float
    """The mean of d at the end, in tolerances."""
    observed: int
    every: int
    ends_nonfinite: bool

    @staticmethod
    def of(found: Comparison, d: Values, step: Values, *, ends_nonfinite: bool) -> RiseShape:
        """The shape of d [n] at steps [n]."""
        width = min(found.rows(25), len(d))
        smooth = moving_mean(d, width)
        above = np.flatnonzero(smooth > found.tolerance)
        onset = int(above[0]) if len(above) else 0
        peak = int(np.argmax(moving_mean(d, min(3, len(d)))))
        half = int(np.argmax(smooth >= smooth.max() / 2))
        return RiseShape(
            start=int(step[0]),
            onset=int(step[onset]),
            peak=int(step[peak]),
            rise_steps=int(step[max(half, onset)] - step[onset]),
            recovered=_return(found, d, step, peak, found.tolerance),
            old_level=_return(found, found.loss[: len(d)] - found.level, step, peak, found.tolerance),
            residual=float(d[-found.rows(150) :].mean()) / found.tolerance,
            observed=int(step[-1] - step[peak]),
            every=found.recording.plan.habit.every,
            ends_nonfinite=ends_nonfinite,
        )

    def classify(self) -> tuple[str, tuple[str, ...], str]:
        """The class, others that are as right, and why it is doubtful ("": it is not)."""
        coarse = 3 * self.every
        if self.recovered is not None:
            duration = self.recovered - self.start
            kind = "spike_fast" if duration <= 100 else "spike_slow"
            if self.rise_steps > SUDDEN_UNTIL + coarse:  # slowly up, and back
                return kind, ("divergence",), ""
            if FAST_UNTIL - coarse < duration < SLOW_FROM + coarse:
                return kind, ("spike_fast", "spike_slow"), ""
            return kind, (), ""
        if self.ends_nonfinite:
            return "spike_unrecovered", ("divergence", "nonfinite"), ""
        doubt = "" if self.residual >= 3 else "neither back nor clearly away at the end"
        if self.rise_steps > GRADUAL_FROM + coarse:
            return "divergence", (), doubt
        if self.rise_steps > SUDDEN_UNTIL - coarse:
            return "divergence", ("spike_unrecovered", "spike_slow"), doubt
        if self.old_level is not None:
            return "spike_slow", ("spike_unrecovered",), doubt
        if self.observed < 500:
            return "spike_unrecovered", ("spike_slow",), doubt
        return "spike_unrecovered", (), doubt


def _return(found: Comparison, d: Values, step: Values, peak: int, tolerance: float) -> int | None:
    """The first step after the peak from which means of 8, 60 and 300 steps stay within the tolerance."""
    n = len(d)
    limits = ((found.rows(8), 1.0), (found.rows(60), 1.0), (found.rows(300), 1.25))
    sums = np.concatenate(([0.0], np.cumsum(d)))
    for row in range(peak + 1, n - found.rows(60) + 1):
        ends = [(min(row + width, n), factor) for width, factor in limits]
        if all((sums[end] - sums[row]) / (end - row) <= factor * tolerance for end, factor in ends):
            return int(step[row])
    return None


def _dataset_event(found: Comparison) -> Event:
    plan = found.recording.plan
    by_dataset = _visibility_of_datasets(found)
    other, own = (by_dataset[name] for name in plan.datasets)
    doubt = ""
    if own < VISIBLE:
        doubt = f"not visible: {own:.1f} standard errors"
    elif other > OTHERS_SHARE * own:
        doubt = "the other dataset's loss rises, too"
    return _event(
        found,
        "dataset_spike",
        ambiguous=doubt,
        end_step=plan.fault_step + plan.length - 1,
        visibility=round(own, 1),
        params={"dataset": plan.datasets[1]},
    )


def _nonfinite_event(found: Comparison, is_bad: NDArray[np.bool_]) -> Event:
    bad = found.step[is_bad]
    return _event(found, "nan", start_step=int(bad[0]), end_step=int(bad[-1]))


def _replay_event(recording: Recording) -> Event:
    """The replayed batches; visible if the noise of both passes is correlated clearly enough."""
    plan = recording.plan
    lag, length = replay_of(plan)
    first, second = (logged(each, plan.habit) for each in recording.attempts)
    last = plan.fault_step + length - 1
    is_replay = (second["step"] >= plan.fault_step) & (second["step"] <= last)
    place = np.searchsorted(first["step"], second["step"] - lag).clip(max=len(first["step"]) - 1)
    is_near = np.abs(first["step"][place] - second["step"] + lag) <= plan.habit.every // 2
    known = is_replay & is_near
    z, r = 0.0, 0.0
    if known.sum() >= 40:
        pair = [_residual(first["loss"][place[known]]), _residual(second["loss"][known])]
        r = float(np.clip(np.corrcoef(*pair)[0, 1], -0.999, 0.999))
        z = float(np.arctanh(r) * np.sqrt(known.sum() - 3))
    return {
        "class": "repeated_data",
        "attempt": 1,
        "start_step": plan.fault_step,
        "peak_step": None,
        "end_step": last,
        "recovered_step": None,
        "first_unseen_step": last + 1 if last + 1 < plan.steps else None,
        "ambiguous": z < VISIBLE_REPLAY,
        "visibility": round(z, 1),
        "params": {"mechanism": plan.mechanism.name, "lag": lag, "correlation": round(r, 3)},
    }


def _residual(loss: Values) -> Values:
    """The loss less its mean over 31 rows around."""
    padded = np.pad(loss, 15, mode="reflect")
    return loss - moving_mean(padded, 31)


def _speed_event(recording: Recording, attempt: int) -> Event:
    plan = recording.plan
    spell = plan.mechanism.name == "speed_spell"
    end = plan.fault_step + plan.length if spell else plan.steps - 1
    return {
        "class": "throughput_regression",
        "attempt": attempt,
        "start_step": plan.fault_step,
        "peak_step": plan.fault_step,
        "end_step": end,
        "recovered_step": end if spell else None,
        "ambiguous": False,
        "params": {"mechanism": plan.mechanism.name, "drop": round(plan.strength, 4)},
    }


def _rank_event(recording: Recording) -> Event:
    plan = recording.plan
    return {
        "class": "straggler",
        "attempt": 0,
        "start_step": plan.fault_step,
        "peak_step": None,
        "end_step": plan.steps - 1,
        "recovered_step": None,
        "ambiguous": False,
        "params": {
            "mechanism": plan.mechanism.name,
            "rank": slow_rank(plan),
            "compute_slowdown": round(plan.strength, 4),
        },
    }


def _event(found: Comparison, kind: str, *, ambiguous: str = "", **fields: Any) -> Event:
    plan = found.recording.plan
    params = {"mechanism": plan.mechanism.name, **fields.pop("params", {})}
    event = {
        "class": kind,
        "attempt": found.attempt,
        "start_step": plan.fault_step,
        "peak_step": None,
        "end_step": None,
        "recovered_step": None,
        "ambiguous": bool(ambiguous),
        **fields,
        "params": params,
    }
    return event | ({"reason": ambiguous} if ambiguous else {})


def natural_rises(recording: Recording) -> list[Event]:
    """Rises of the fault-free loss on examples never trained on: real instability, always ambiguous.

    A rise counts where that loss exceeds the median of its last ten values by six times its usual deviation
    from it, and where a detector could see it in the rows, by the limit of planted faults.
    """
    plan, (steps, probe) = recording.plan, recording.probe.T
    twin = logged(recording.twin, plan.habit)
    spacing = int(steps[1] - steps[0])
    past = np.lib.stride_tricks.sliding_window_view(probe, 10)
    excess = np.concatenate((np.zeros(10), probe[10:] - np.median(past[:-1], axis=1)))
    unusual = 6 * 1.4826 * float(np.median(np.abs(excess[10:])))
    events: list[Event] = []
    place = 10
    while place < len(probe):
        count = int(np.argmin(np.append(excess[place:] > unusual, False)))
        rows = np.repeat(excess[place : place + count], max(1, spacing // plan.habit.every))
        sigma = noise_of(twin["loss"], int(np.searchsorted(twin["step"], steps[place])))
        if count and visibility(rows, sigma) >= VISIBLE:
            last = int(steps[min(place + count, len(steps) - 1)])
            attempts = range(len(recording.attempts))
            events += [_natural(attempt, steps[place - 1 : place + 1], last) for attempt in attempts]
        place += max(count, 1)
    return events


def _natural(attempt: int, began: Values, end: int) -> Event:
    """`began` [2]: the last step without the rise, and the first one with it."""
    return {
        "class": "natural_instability",
        "attempt": attempt,
        "start_step": int(began[0]),
        "onset_step": int(began[1]),
        "peak_step": None,
        "end_step": end,
        "recovered_step": None,
        "ambiguous": True,
        "params": {"mechanism": "none"},
    }
