"""Comparisons in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holter.detectors.compare.axes import XAxis
from holter.detectors.compare.figures import ComparedValue
from holter.detectors.compare.settings import SettingCategory, SettingDifference, SettingsComparison
from holter.detectors.compare.significance import ComparisonThresholds, CurveDifference
from holter.detectors.findings import title_of
from holter.detectors.findings.finding_type import in_sentence
from holter.detectors.formatting import duration, figure
from holter.plurals import counted
from holter.types import ConfigValue

_NAMED = 4
"""Settings and kinds of incidents that a sentence names."""
_LONGEST_VALUE = 40
_SAME_SPEED = 0.01
"""Relative difference up to which two speeds count as equal: nodes usually differ by more."""
_WANTED = ComparisonThresholds().wanted


def describe_x(x: float, axis: XAxis) -> str:
    """A position on an axis: "step 1,200", "3.2G tokens", "2 h 5 min"."""
    if axis is XAxis.STEP:
        return f"step {x:,.0f}"
    if axis is XAxis.RELATIVE:
        return duration(x)
    return f"{figure(x)} {'s' if axis is XAxis.WALL else axis.value}"


def describe_settings(settings: SettingsComparison, run: int, baseline: int) -> str:
    """What a run's configuration has instead of the baseline's."""
    return _settings_sentence(settings, run, baseline, (SettingCategory.CONFIGURATION,), "configuration")


def describe_environment(settings: SettingsComparison, run: int, baseline: int) -> str:
    """How a run's launch, software and hardware differ from the baseline's."""
    others = (SettingCategory.LAUNCH, SettingCategory.ENVIRONMENT, SettingCategory.HARDWARE)
    return _settings_sentence(settings, run, baseline, others, "launch and environment")


def _settings_sentence(
    settings: SettingsComparison,
    run: int,
    baseline: int,
    categories: Sequence[SettingCategory],
    what: str,
) -> str:
    differences = [each for each in settings.of(*categories) if each.values[run] != each.values[baseline]]
    if not differences:
        return f"Equal {what}."
    named = [_setting_text(each, run, baseline) for each in differences[:_NAMED]]
    more = len(differences) - _NAMED
    rest = f", and {counted(more, 'more setting')}" if more > 0 else ""
    return f"{', '.join(named)}{rest}."


def _setting_text(difference: SettingDifference, run: int, baseline: int) -> str:
    mine, theirs = difference.values[run], difference.values[baseline]
    if theirs is None:
        return f"{difference.name} {value_text(mine)} (not stated before)"
    if mine is None:
        return f"{difference.name} not stated (was {value_text(theirs)})"
    return f"{difference.name} {value_text(mine)} instead of {value_text(theirs)}"


def value_text(value: ConfigValue | None) -> str:
    """A setting's value in a sentence or table; shortened where it is long."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}"
    text = " ".join(str(value).split())
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 3]}..."


def describe_speed(figures: Sequence[ComparedValue], run: int, baseline: int) -> str:
    """How a run's speed compares with the baseline's."""
    for each in figures:
        if not each.name.startswith(("throughput", "step_time")):
            continue
        mine, theirs = each.values[run], each.values[baseline]
        if mine is None or theirs is None or mine <= 0 or theirs <= 0:
            continue
        faster = mine / theirs - 1 if each.better == "higher" else theirs / mine - 1
        unit = f" {each.unit}" if each.unit else ""
        values = f"{figure(mine)}{unit}, {figure(theirs)}{unit} before"
        if abs(faster) <= _SAME_SPEED:
            return f"Equally fast: {values}."
        if faster >= 1:  # a share is hard to read beyond twice
            return f"{1 + faster:.3g} times as fast: {values}."
        return f"{abs(faster):.1%} {'faster' if faster > 0 else 'slower'}: {values}."
    return "The speed of both is not known in the same unit."


def describe_incidents(counts: Mapping[str, Sequence[int]], run: int, baseline: int) -> str:
    """By which kinds of incidents a run and the baseline differ; `counts` by kind."""
    more = [(kind, each[run] - each[baseline]) for kind, each in counts.items() if each[run] > each[baseline]]
    fewer = [
        (kind, each[baseline] - each[run]) for kind, each in counts.items() if each[run] < each[baseline]
    ]
    if not more and not fewer:
        total = sum(each[run] for each in counts.values())
        return f"The same incidents: {total:,}." if total else "No incidents in either."
    parts = [f"{_kinds(each)} {word}" for each, word in ((more, "more"), (fewer, "fewer")) if each]
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."


def _kinds(counts: Sequence[tuple[str, int]]) -> str:
    named = [f"{number} {in_sentence(title_of(kind))}" for kind, number in counts[:_NAMED]]
    return ", ".join(named) + (f" and {len(counts) - _NAMED} other kinds" if len(counts) > _NAMED else "")


def describe_loss(difference: CurveDifference | None, axis: XAxis, name: str = "loss") -> str:
    """The difference of two losses with its interval, or that none is significant."""
    if difference is None:
        return f"The {name} of both has too few points at common {_plural(axis)} to be compared."
    if difference.difference == 0 and difference.high == difference.low:
        return f"The {name} of both is equal."
    place = f"from {describe_x(difference.from_x, axis)} to {describe_x(difference.to_x, axis)}"
    batches = "; both saw the same batches" if difference.paired else ""
    interval = _interval(difference)
    if difference.sign:
        word = "lower" if difference.sign < 0 else "higher"
        size = _size(difference, abs(difference.difference))
        since = ""
        if difference.since_x is not None and difference.since_x > difference.from_x:
            since = f", since {describe_x(difference.since_x, axis)}"
        return f"The {name} is {size} {word} (95 % interval {interval}) {place}{since}{batches}."
    reason = _detectable(difference, axis)
    return f"No significant difference of the {name} (95 % interval {interval}) {place}{batches}{reason}."


def _detectable(difference: CurveDifference, axis: XAxis) -> str:
    """The smallest difference that these points would show, and how one of `_WANTED` could be shown."""
    if difference.detectable is None:
        return ""
    percent = 100 * difference.detectable
    if difference.detectable <= _WANTED:
        return f"; the smallest that could be detected is {percent:.2f} %"
    smallest = f"; the smallest that could be detected is {percent:.1f} %"
    if difference.needed_x is None:
        return f"{smallest}. Longer runs would not help: seeds may differ by as much"
    return f"{smallest}, and {100 * _WANTED:.0f} % if both ran to {describe_x(difference.needed_x, axis)}"


def _interval(difference: CurveDifference) -> str:
    low, high = (difference.relative(value) for value in (difference.low, difference.high))
    if low is None or high is None:
        return f"{_signed(difference.low)} to {_signed(difference.high)}"
    digits = 2 if max(abs(low), abs(high)) < 0.02 else 1
    return f"{100 * low:+.{digits}f} to {100 * high:+.{digits}f} %"


def _size(difference: CurveDifference, size: float) -> str:
    relative = difference.relative(size)
    return figure(size) if relative is None else f"{100 * relative:.{2 if relative < 0.02 else 1}f} %"


def _signed(value: float) -> str:
    return f"{'+' if value >= 0 else '-'}{figure(abs(value))}"


def _plural(axis: XAxis) -> str:
    return {XAxis.STEP: "steps", XAxis.WALL: "times", XAxis.RELATIVE: "times"}.get(axis, axis.value)
