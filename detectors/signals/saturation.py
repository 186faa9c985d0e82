"""Ratios that are pathological at 1: completions that all reach the length limit, updates all clipped.

Reinforcement learning of language models logs them. They have a meaning at their end that no usual level is
needed for: a model whose completions are all cut off before they end gives no answers to reward.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from holter.detectors.detector import DetectorContext
from holter.detectors.positions import attempt_rows
from holter.detectors.thresholds import Thresholds
from holter.roles import words_of
from holter.types import Finding, FloatArray, Kind, RunData, Series, SeriesKey, Severity

_GENERATED = frozenset(
    f"{word}{plural}"
    for word in ("completion", "response", "generation", "rollout", "sample")
    for plural in ("", "s")
)
_CUT_OFF = frozenset(["clip", "clipped", "clipping", "truncated", "truncation"])
_RATIOS = frozenset(["ratio", "fraction", "frac", "rate", "share"])
_UPDATES = frozenset(["clipfrac", "clipfraction"])
_OTHERS = frozenset(
    ["grad", "gradient", "reward", "rewards", "advantage", "advantages", "value", "vf", "prompt", "prompts"]
)
_MEAN = re.compile(r"(?<![a-z])(mean|avg|average)(?![a-z])")


@dataclass(frozen=True, kw_only=True)
class SaturationThresholds(Thresholds):
    """When a ratio counts as saturated."""

    rows: int = 32
    """Rows whose mean shows it: a few rows at 1 are usual while a model learns to end its answers."""
    saturated: float = 0.95
    """Mean of so many rows from which on it is saturated: nothing but single samples is left."""
    over: float = 0.8
    """Mean of so many rows below which it is over."""
    shortest_limit: float = 64.0
    """Tokens. A length limit below this may be the length of every answer."""
    confidence: float = 0.9
    """Confidence."""


@dataclass(frozen=True, kw_only=True)
class _Advice:
    """What to do where something is saturated, where it was so from the first row on, and once it is over."""

    now: str
    from_start: str
    over: str


@dataclass(frozen=True, kw_only=True)
class _Ratio:
    """A series with the share [n] that it states of what is saturated at 1.

    `what` and `how` are what is saturated and how, with a verb between. `from_start`: whether it is reported
    where it was saturated from the first row on.
    """

    series: Series
    share: FloatArray
    what: str
    how: str
    advice: _Advice
    from_start: bool = True


_OF_LENGTH = _Advice(
    now="Compare completions with earlier ones: repetition, or no end token any more. If they are sound, "
    "raise the length limit; otherwise roll back, or penalise length.",
    from_start="Look at some completions: repetition, or no end token. If they are sound, raise the length "
    "limit; otherwise penalise length.",
    over="Nothing to do now. If it comes again: compare completions of these steps with those before.",
)
_UPDATES_CLIPPED = "Lower the learning rate, or take fewer updates of each batch: the policy moves too far."
_OF_UPDATES = _Advice(
    now=_UPDATES_CLIPPED,
    from_start=_UPDATES_CLIPPED,
    over="Nothing to do now. If it comes again: lower the learning rate, or take fewer updates of a batch.",
)


@dataclass(frozen=True, kw_only=True)
class SaturationDetector:
    """Detects completions that are all cut off, and updates of a policy that are all clipped."""

    name: ClassVar[str] = "saturation"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.METRIC_COLLAPSE})
    thresholds: SaturationThresholds = SaturationThresholds()

    def detect(self, run: RunData, context: DetectorContext) -> Iterable[Finding]:
        """One finding for each time at which something is saturated, from the series that shows it first."""
        findings = sorted(
            (
                (finding, ratio.advice)
                for ratio in _ratios(run, self.thresholds)
                for finding in self._of_ratio(ratio, context.tuning.of(ratio.series.key.metric).sensitivity)
            ),
            key=lambda pair: (pair[0].attempt, pair[0].detected_step),
        )
        first: list[tuple[Finding, _Advice]] = []
        for finding, advice in findings:
            if not any(about is advice and _is_same(earlier, finding) for earlier, about in first):
                first.append((finding, advice))
        return [finding for finding, _ in first]

    def _of_ratio(self, ratio: _Ratio, sensitivity: float) -> Iterator[Finding]:
        limits, series = self.thresholds, ratio.series
        for span in attempt_rows(series):
            row = span.first + np.flatnonzero(np.isfinite(ratio.share[span.rows]))
            share = ratio.share[row]
            if len(share) < limits.rows:
                continue
            mean = sliding_window_view(share, limits.rows).mean(axis=1)
            least = 1 - (1 - limits.saturated) * sensitivity
            first = 0
            while first < len(mean) and (mean[first:] >= least).any():
                at = first + int(np.argmax(mean[first:] >= least))
                over = np.flatnonzero(mean[at:] < limits.over)
                end = at + int(over[0]) if len(over) else None
                # of the window that shows it, the first row that is saturated itself
                start = at + int(np.argmax(share[at : at + limits.rows] >= least))
                if start > 0 or ratio.from_start:
                    last = None if end is None else int(row[_first_after(share, end, least, limits.rows)])
                    level = float(mean[at:end].max())
                    detected = int(row[at + limits.rows - 1])
                    yield self._finding(ratio, int(row[start]), detected, last, level, is_first=start == 0)
                if end is None:
                    break
                first = end

    def _finding(
        self, ratio: _Ratio, start: int, detected: int, end: int | None, level: float, *, is_first: bool
    ) -> Finding:
        series, began = ratio.series, f"{int(ratio.series.step[start]):,}"
        verb, when = "have been", f"since step {began}"
        advice = ratio.advice.from_start if is_first else ratio.advice.now
        if end is not None:
            verb, when = "were", f"from step {began} until step {int(series.step[end]):,}"
            advice = ratio.advice.over
        return Finding(
            kind=Kind.METRIC_COLLAPSE,
            metric=series.key.metric,
            labels=series.key.labels,
            attempt=int(series.attempt[start]),
            start_step=int(series.step[start]),
            peak_step=None,
            end_step=None if end is None else int(series.step[end]),
            detected_step=int(series.step[detected]),
            classified_step=int(series.step[detected]),
            severity=Severity.WARNING if end is None else Severity.INFO,
            confidence=self.thresholds.confidence,
            summary=f"{ratio.what} {verb} {ratio.how} {when} ({series.key}).",
            advice=advice,
            evidence={"level": level},
        )


def _ratios(run: RunData, thresholds: SaturationThresholds) -> Iterator[_Ratio]:
    """The ratios of a run that have a meaning at 1; its lengths only where no ratio states it."""
    keys = [key for key in sorted(run.series) if key.rank is None]
    states_cut_off = False
    for key in keys:
        words, series = words_of(key.metric), run.series[key]
        share = np.where(series.value <= 1.0, series.value, 0.0)  # a value above 1 is no ratio
        if _is_cut_off(words):
            states_cut_off = True
            what, how = "Nearly all completions", "cut off at the length limit"
            yield _Ratio(series=series, share=share, what=what, how=how, advice=_OF_LENGTH)
        elif _is_clipped(words):
            what = "Nearly all updates of the policy"
            yield _Ratio(series=series, share=share, what=what, how="clipped", advice=_OF_UPDATES)
    if states_cut_off:
        return
    for key in keys:
        words, last = words_of(key.metric), _MEAN.sub("max", key.metric.lower())
        if not _is_length(words) or last == key.metric.lower():
            continue
        longest = next((run.series[each] for each in keys if each.metric.lower() == last), None)
        series = run.series[key]
        if longest is not None and np.array_equal(longest.step, series.step) and len(series):
            limit = np.fmax.accumulate(longest.value)
            share = np.where(limit >= thresholds.shortest_limit, series.value / np.fmax(limit, 1.0), 0.0)
            yield _Ratio(
                series=series,
                share=share,
                what="Completions",
                how="on average as long as the longest",
                advice=_OF_LENGTH,
                from_start=False,
            )


def may_saturate(key: SeriesKey) -> bool:
    """Whether a series is named as a ratio that has a meaning at 1, or as a length of completions."""
    words = words_of(key.metric)
    return _is_cut_off(words) or _is_clipped(words) or _is_length(words)


def _is_cut_off(words: frozenset[str]) -> bool:
    is_ratio = not (_CUT_OFF.isdisjoint(words) or _RATIOS.isdisjoint(words))
    return is_ratio and not _GENERATED.isdisjoint(words) and _OTHERS.isdisjoint(words)


def _is_clipped(words: frozenset[str]) -> bool:
    return not _UPDATES.isdisjoint(words) and _OTHERS.isdisjoint(words)


def _is_length(words: frozenset[str]) -> bool:
    return "length" in words and not _GENERATED.isdisjoint(words) and _OTHERS.isdisjoint(words)


def _is_same(earlier: Finding, later: Finding) -> bool:
    """Whether two findings about the same thing are at the same time."""
    is_over = earlier.end_step is not None and later.start_step > earlier.end_step
    return earlier.attempt == later.attempt and not is_over


def _first_after(share: FloatArray, begin: int, least: float, rows: int) -> int:
    """The first row that is saturated no longer, of the window of `rows` at `begin` that is so no longer."""
    saturated = np.flatnonzero(share[begin : begin + rows] >= least)
    return begin + min(int(saturated[-1:].sum()) + len(saturated[-1:]), rows - 1)
