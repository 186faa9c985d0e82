"""Matching of a run's loss with its past: which steps saw the same batches, by the fingerprint of the noise.

The noise of the loss around its trend is mostly that of the batch: the same batch later in training leaves
nearly the same residual. So the residuals after a resume are slid along those of earlier attempts (normalized
cross-correlation). Points that are means over intervals match between two earlier points, by the share in
which their intervals overlap. No published method was found; the nearest is palimpsestic inference (training
order against likelihood).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri

from holter.detectors.positions import rows_of_attempt, rows_up_to
from holter.detectors.robust_statistics import centered_medians, mad_sigma, median
from holter.detectors.thresholds import Thresholds
from holter.types import FloatArray, IntArray, Series


@dataclass(frozen=True, kw_only=True)
class MatchThresholds(Thresholds):
    """When residuals after a resume match those of an earlier attempt."""

    trend_points: int = 33
    """Points of the running median that is the trend."""
    clip_sigmas: float = 4.0
    """Sigmas. A residual counts at most this much."""
    fewest_points: int = 16
    """Points that overlap, at least."""
    longest_past: int = 262_144
    """Points of an earlier attempt that are searched, the latest ones."""
    on_grid_share: float = 0.9
    """Share of points that must be on a regular grid of steps."""
    grid_sparsity: int = 4
    """Times its points that an attempt may cover in grid intervals: sparser ones have no regular grid."""
    chance: float = 1e-5
    """Probability of a false alarm per resume, over all positions."""
    chance_at_likely: float = 1e-4
    """Probability of a false alarm per resume, over the likeliest positions."""
    rival_share: float = 0.8
    """Share of the best score that the second best position must stay below."""
    rival_intervals: int = 3
    """Log intervals within which a position is the best one, not a rival."""
    least_correlation: float = 0.1
    """Correlation, at least."""
    between_points: float = 4.0
    """Difference of squared scores by which a lag between two points must be better than one on a point."""
    lags_per_interval: int = 10
    """Lags within a log interval that are tried at most."""
    second_weight: float = 0.5
    """Weight of the second channel: the fingerprint of the gradient norm is about half as strong."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ResidualTrace:
    """The residuals of one attempt on a regular grid: point i was logged at step `first + i * interval`.

    `residual` [channels, n] is zero where nothing was logged. `persistence` [channels] is each channel's
    correlation with its own previous point.
    """

    attempt: int
    first: int
    interval: int
    residual: FloatArray
    persistence: FloatArray

    @property
    def last(self) -> int:
        """The step of the last point."""
        return self.first + self.interval * (int(self.residual.shape[1]) - 1)


@dataclass(frozen=True, kw_only=True)
class DataMatch:
    """A match: the new attempt's step s saw the batch of step `s - lag` of `attempt`.

    `correlation` is that of the residuals, `score` its Fisher z, which is beyond chance.
    """

    attempt: int
    lag: int
    correlation: float
    score: float


def read_residual_trace(
    channels: list[Series], attempt: int, thresholds: MatchThresholds, *, points: int | None = None
) -> ResidualTrace | None:
    """The residuals of an attempt's first `points` points; None where they are on no regular grid."""
    main = channels[0]
    step = main.step[rows_of_attempt(main, attempt).rows][:points]
    if len(step) < thresholds.fewest_points:
        return None
    interval = int(median(np.diff(step)))
    # the first and the last point of an attempt are often off the grid
    phase = int(median(step % interval))
    on_grid = step % interval == phase
    is_sparse = step[-1] - step[0] > thresholds.grid_sparsity * interval * len(step)
    if np.mean(on_grid) < thresholds.on_grid_share or is_sparse:
        return None
    first, last = int(step[on_grid][0]), int(step[on_grid][-1])
    residual = [_grid_residuals(series, attempt, first, last, interval, thresholds) for series in channels]
    return _trace(attempt, first, interval, np.stack(residual))


def _trace(attempt: int, first: int, interval: int, residual: FloatArray) -> ResidualTrace:
    persistence = np.array([_autocorrelation(channel) for channel in residual])
    return ResidualTrace(
        attempt=attempt, first=first, interval=interval, residual=residual, persistence=persistence
    )


def _grid_residuals(
    series: Series, attempt: int, first: int, last: int, interval: int, thresholds: MatchThresholds
) -> FloatArray:
    rows = slice(rows_up_to(series, (attempt, first - 1)), rows_up_to(series, (attempt, last)))
    index, off_grid = np.divmod(series.step[rows] - first, interval)
    grid = np.full((last - first) // interval + 1, np.nan)
    grid[index[off_grid == 0]] = series.value[rows][off_grid == 0]
    return normalized_residuals(grid, thresholds)


def normalized_residuals(values: FloatArray, thresholds: MatchThresholds) -> FloatArray:
    """The distance of values [n] from the local trend, over its usual size, clipped; zero where unknown.

    One unit for the full attempt: where the noise is small, as it is early on, it carries little of a batch.
    """
    known = np.flatnonzero(np.isfinite(values))
    residuals = np.zeros(len(values))
    if len(known) < thresholds.fewest_points:
        return residuals
    level = values[known]
    level = np.log(level) if (level > 0).all() else level
    window = min(thresholds.trend_points, len(level) // 2 * 2 - 1)
    rest = level - centered_medians(level, window)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        rest = rest / mad_sigma(rest, 0.0)
    limit = thresholds.clip_sigmas
    residuals[known] = np.clip(np.nan_to_num(rest, nan=0.0), -limit, limit)
    return residuals


@dataclass(frozen=True, eq=False, kw_only=True)
class _LagScores:
    """The result of sliding a new trace along the last `length` points of an old one: a score and a
    correlation for each position. The first `positions` of them are on a point of the old trace, the others
    at `fractions` of the distance to the next."""

    new: ResidualTrace
    old: ResidualTrace
    length: int
    positions: int
    fractions: FloatArray
    score: FloatArray
    correlation: FloatArray

    @cached_property
    def lag(self) -> IntArray:
        """The lag in steps of each position."""
        begin = self.old.last - self.old.interval * (self.length - 1)
        places = np.arange(self.positions)[None, :] + self.fractions[:, None]
        return np.rint(self.new.first - begin - self.new.interval * places).astype(np.int64).ravel()

    def match(self, index: int) -> DataMatch:
        return DataMatch(
            attempt=self.old.attempt,
            lag=int(self.lag[index]),
            correlation=float(self.correlation[index]),
            score=float(self.score[index]),
        )

    def prefer_on_point(self, best: int, thresholds: MatchThresholds) -> int:
        """A position on an old point, unless the best one, between two points, is clearly better."""
        on_point = best % self.positions
        on_point = max(
            range(on_point, min(on_point + 2, self.positions)), key=lambda index: float(self.score[index])
        )
        gain = self.score[best] ** 2 - max(self.score[on_point], 0.0) ** 2
        return on_point if gain < thresholds.between_points else best


def refine_lag(new: ResidualTrace, old: ResidualTrace, lag: int, thresholds: MatchThresholds) -> int:
    """The best lag in steps around a known one, from more points than that was detected with."""
    compared = _score_lags(new, [old], thresholds)
    if not compared:
        return lag
    (scores,) = compared
    near = np.flatnonzero(np.abs(scores.lag - lag) <= new.interval)
    if not len(near):
        return lag
    best = int(near[np.argmax(scores.score[near])])
    return int(scores.lag[scores.prefer_on_point(best, thresholds)])


def find_match(
    new: ResidualTrace,
    past: list[ResidualTrace],
    thresholds: MatchThresholds,
    *,
    tests: int,
    sensitivity: float = 1.0,
) -> DataMatch | None:
    """The likeliest sure match of `new` in the past; None where there is none.

    `tests` is how often this is tested after one resume; they share the chance of a false alarm. Two
    positions require less evidence: a lag of zero (a correct resume after a rollback), and the beginning of
    the first attempt, where loaders start that lose their position.
    """
    all_scores = [
        scores for part in _parts(new, thresholds) for scores in _score_lags(part, past, thresholds)
    ]
    if not all_scores:
        return None
    limit = _score_limit(thresholds.chance / (tests * sum(len(scores.score) for scores in all_scores)))
    least = min(limit, _score_limit(thresholds.chance_at_likely / tests)) / sensitivity
    candidates = []
    for scores in all_scores:
        if not scores.score.max() > least:
            continue
        best = scores.prefer_on_point(int(np.argmax(scores.score)), thresholds)
        distant = np.abs(scores.lag - scores.lag[best]) > thresholds.rival_intervals * new.interval
        rival = float(scores.score[distant].max()) if distant.any() else 0.0
        is_clear = rival < thresholds.rival_share * scores.score[best]
        is_clear = is_clear and scores.correlation[best] > thresholds.least_correlation
        if is_clear and scores.score[best] > limit / sensitivity:
            candidates.append(scores.match(best))
        likely = _likely_positions(new, scores, is_first=scores.old is past[0])
        if len(likely):
            best = scores.prefer_on_point(int(likely[np.argmax(scores.score[likely])]), thresholds)
            limit_at_likely = _score_limit(thresholds.chance_at_likely / (tests * len(likely))) / sensitivity
            if scores.score[best] > max(limit_at_likely, rival):
                candidates.append(scores.match(best))
    return max(candidates, key=lambda candidate: candidate.score, default=None)


def _likely_positions(new: ResidualTrace, scores: _LagScores, *, is_first: bool) -> IntArray:
    """The positions with a lag of zero and, in the first attempt, those at its beginning."""
    source = new.first - scores.lag  # the step whose batch is the first of the new attempt
    at_beginning = is_first & (np.abs(source - scores.old.first) <= new.interval)
    return np.flatnonzero((np.abs(scores.lag) < new.interval) | at_beginning)


def _parts(new: ResidualTrace, thresholds: MatchThresholds) -> list[ResidualTrace]:
    """The full trace, and its later half: early on, a model that was new left other residuals."""
    half = new.residual.shape[1] // 2
    if half < thresholds.fewest_points:
        return [new]
    first, later = new.first + half * new.interval, new.residual[:, half:]
    return [new, _trace(new.attempt, first, new.interval, later)]


def _score_limit(chance: float) -> float:
    return float(-ndtri(max(chance, 1e-300)))


def _score_lags(
    new: ResidualTrace, past: Sequence[ResidualTrace], thresholds: MatchThresholds
) -> list[_LagScores]:
    """The scores of all lags against each past trace that has the same interval and is long enough.

    The past traces are laid end to end, with zeros in between, and the new one slides along all of them at
    once: there may be many short ones.
    """
    n, fractions = new.residual.shape[1], _interval_fractions(new.interval, thresholds.lags_per_interval)
    fewest = max(thresholds.fewest_points, n // 2)
    past = [old for old in past if old.interval == new.interval and old.residual.shape[1] >= fewest]
    if not past:
        return []
    histories = [old.residual[:, -thresholds.longest_past :] for old in past]
    slides = _slides(tuple(history.shape[1] for history in histories), n, fewest)
    padding = np.zeros((len(new.residual), n + 1))
    joined = np.concatenate([part for history in histories for part in (history, padding)], axis=1)
    # both are correlated with their own past: fewer points are independent (Bartlett)
    persistence = np.stack([np.maximum(old.persistence, 0.0) for old in past], axis=1)
    product = np.maximum(new.persistence, 0.0)[:, None] * persistence
    independent = ((1 - product) / (1 + product))[:, slides.trace]
    correlations = _correlations(new.residual, joined, slides, fractions)
    # Fisher's z of n points has the variance 1 / (n - 3)
    known = np.mean(new.residual != 0, axis=1)[:, None]
    deviations = np.sqrt(np.maximum(slides.overlap * known * independent - 3, 1e-9))[:, None, :]
    scores = np.arctanh(np.clip(correlations, -0.999999, 0.999999)) * deviations
    weights = np.array([1.0, thresholds.second_weight])[: len(scores)]
    weighted = sum(weight * score for weight, score in zip(weights, scores, strict=True))
    score = weighted / np.sqrt(weights @ weights)
    return [
        _LagScores(
            new=new,
            old=old,
            length=history.shape[1],
            positions=own.stop - own.start,
            fractions=fractions,
            score=score[:, own].ravel(),
            correlation=correlations[0, :, own].ravel(),
        )
        for old, history, own in zip(past, histories, slides.own, strict=True)
    ]


class _Slides(NamedTuple):
    """The positions [m] along past traces that are laid end to end: the number of the `trace` of each, the
    `position` in all, and with how many points a new trace would `overlap` there; `own` are those of each
    trace."""

    trace: IntArray
    position: IntArray
    overlap: IntArray
    own: list[slice]


@lru_cache(maxsize=16)
def _slides(lengths: tuple[int, ...], points: int, fewest: int) -> _Slides:
    """The positions of a new trace of some points along traces of these lengths, which it must overlap with
    so many points at least. The attempts of a run are often of the same lengths."""
    length = np.array(lengths)
    counts = length - fewest + 1
    ends = np.cumsum(counts)
    trace = np.repeat(np.arange(len(lengths)), counts)
    place = np.arange(ends[-1]) - (ends - counts)[trace]
    begins = np.cumsum(length + points + 1) - (length + points + 1)
    return _Slides(
        trace=trace,
        position=place + begins[trace],
        overlap=np.minimum(points, length[trace] - place),
        own=[slice(end - count, end) for end, count in zip(ends.tolist(), counts.tolist(), strict=True)],
    )


def _interval_fractions(interval: int, most: int) -> FloatArray:
    """Fractions of the distance from one old point to the next, full steps each, `most` at most."""
    count = min(interval, most)
    return np.unique(np.arange(count) * interval // count) / interval


def _autocorrelation(values: FloatArray) -> float:
    power = float(values @ values)
    return float(values[1:] @ values[:-1]) / power if power > 0 else 0.0


def _correlations(
    query: FloatArray, history: FloatArray, slides: _Slides, fractions: FloatArray
) -> FloatArray:
    """The correlation of `query` [channels, n] with `history` [channels, m] from each position on [channels,
    fractions, positions]; between two points of `history`, with their weighted mean. Behind the last points
    that overlap are n + 1 zeros."""
    position = slides.position
    n = query.shape[1]
    cross, energy = _sliding_products(history, query), _sliding_sum(history**2, n)
    query_energy = np.cumsum(query**2, axis=1)[:, None, slides.overlap - 1]
    product, history_energy = cross[:, None, position], energy[:, None, position]
    if len(fractions) > 1:
        neighbors = _sliding_sum(history[:, :-1] * history[:, 1:], n)[:, None, position]
        share = fractions[:, None]
        product = (1 - share) * product + share * cross[:, None, position + 1]
        history_energy = (
            (1 - share) ** 2 * history_energy
            + 2 * share * (1 - share) * neighbors
            + share**2 * energy[:, None, position + 1]
        )
    correlation: FloatArray = product / np.sqrt(np.maximum(history_energy * query_energy, 1e-12))
    return correlation


def _sliding_sum(values: FloatArray, length: int) -> FloatArray:
    total = np.cumsum(np.concatenate((np.zeros((len(values), 1)), values), axis=1), axis=1)
    return np.asarray(total[:, length:] - total[:, :-length])


def _sliding_products(long: FloatArray, short: FloatArray) -> FloatArray:
    """`long[c, k : k + n] @ short[c]` for every channel and position k, by Fourier transforms of overlapping
    blocks.

    `scipy.signal` has this too, and costs every server 50 MB of memory to import.
    """
    (channels, n), length = short.shape, long.shape[1]
    positions = length - n + 1
    # one block where it need not be long
    size = next_fast_len(min(max(8 * n, 1024), length), real=True)
    hop = size - n + 1
    starts = np.arange(0, positions, hop)
    padded = np.concatenate((long, np.zeros((channels, max(int(starts[-1]) + size - length, 0)))), axis=1)
    blocks = padded[:, starts[:, None] + np.arange(size)]
    spectrum = np.conj(rfft(short, size))[:, None, :]
    products: FloatArray = irfft(rfft(blocks) * spectrum, size)[:, :, :hop].reshape(channels, -1)
    return products[:, :positions]
