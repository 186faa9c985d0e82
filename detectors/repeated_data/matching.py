"""Finding the place in a run's past whose batches are being seen again, by the fingerprint of the noise.

The noise of the loss around its trend is mostly the batch's own: the same batch later in training leaves
nearly the same residual. So the residuals after a resume are slid along those of earlier attempts
(normalised cross-correlation). Points that are means over intervals match between two of the past, by
the share in which their intervals overlap. No published method was found; the nearest is palimpsestic
inference (training order against likelihood).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.ndimage import median_filter
from scipy.special import ndtri

from holter.detectors.positions import rows_of_attempt, rows_up_to
from holter.types import FloatArray, IntArray, Series

_TREND, _CLIP = 33, 4.0
_LONGEST_PAST = 1 << 18
_FEWEST = 16
_CHANCE, _CHANCE_AT_LIKELY = 1e-5, 1e-4
"""False alarms accepted per resume: over all places, and at the likeliest ones."""
_RIVAL = 0.8
_CLEARLY = 4.0
_SECOND = 0.5
"""Weight of the second channel: the gradient norm's fingerprint is about half as strong."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Trace:
    """Residuals [n] of one attempt on a regular grid: point i was logged at step `first + i * interval`.

    A channel each row [channels, n]; zero where nothing was logged. `persistence` [channels] is each
    channel's correlation with its own last point.
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
class Match:
    """The new attempt's step s saw the batch of step `s - lag` of `attempt`.

    `correlation` is that of the residuals, `score` its Fisher z, `sure` says it is beyond chance.
    """

    attempt: int
    lag: int
    correlation: float
    score: float
    sure: bool


def trace_of(channels: list[Series], attempt: int, *, points: int | None = None) -> Trace | None:
    """The trace of an attempt's first `points` points; None where they lie on no regular grid."""
    main = channels[0]
    step = main.step[rows_of_attempt(main, attempt).rows][:points]
    if len(step) < _FEWEST:
        return None
    interval = int(np.median(np.diff(step)))
    # the first and the last point of an attempt often lie off the grid
    phase = int(np.median(step % interval))
    on_grid = step % interval == phase
    if np.mean(on_grid) < 0.9 or step[-1] - step[0] > 4 * interval * len(step):
        return None
    first, last = int(step[on_grid][0]), int(step[on_grid][-1])
    rows = [_on_grid(series, attempt, first, last, interval) for series in channels]
    return _trace(attempt, first, interval, np.stack(rows))


def _trace(attempt: int, first: int, interval: int, residual: FloatArray) -> Trace:
    persistence = np.array([_autocorrelation(row) for row in residual])
    return Trace(attempt=attempt, first=first, interval=interval, residual=residual, persistence=persistence)


def _on_grid(series: Series, attempt: int, first: int, last: int, interval: int) -> FloatArray:
    rows = slice(rows_up_to(series, (attempt, first - 1)), rows_up_to(series, (attempt, last)))
    place, beside = np.divmod(series.step[rows] - first, interval)
    grid = np.full((last - first) // interval + 1, np.nan)
    grid[place[beside == 0]] = series.value[rows][beside == 0]
    return residuals(grid)


def residuals(values: FloatArray) -> FloatArray:
    """Distance from the local trend in units of the usual one, clipped; zero where unknown.

    One unit for all: where the noise is small, as it is early on, there is little of a batch in it.
    """
    known = np.flatnonzero(np.isfinite(values))
    out = np.zeros(len(values))
    if len(known) < _FEWEST:
        return out
    level = values[known]
    level = np.log(level) if (level > 0).all() else level
    rest = level - median_filter(level, size=min(_TREND, len(level) // 2 * 2 - 1), mode="nearest")
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        rest = rest / (1.4826 * np.median(np.abs(rest)))
    out[known] = np.clip(np.nan_to_num(rest, nan=0.0), -_CLIP, _CLIP)
    return out


@dataclass(frozen=True, eq=False, kw_only=True)
class _Slide:
    """What sliding a new trace along an old one gave: a lag in steps, a score and a correlation each."""

    old: Trace
    places: int
    lag: IntArray
    score: FloatArray
    correlation: FloatArray

    def at(self, place: int, *, sure: bool) -> Match:
        return Match(
            attempt=self.old.attempt,
            lag=int(self.lag[place]),
            correlation=float(self.correlation[place]),
            score=float(self.score[place]),
            sure=sure,
        )


def refined(new: Trace, old: Trace, lag: int) -> int:
    """The lag in steps, from more points than it was found with: the best one around it."""
    slide = _slide(new, old)
    if slide is None:
        return lag
    near = np.flatnonzero(np.abs(slide.lag - lag) <= new.interval)
    if not len(near):
        return lag
    return int(slide.lag[_whole(slide.score, int(near[np.argmax(slide.score[near])]), slide.places)])


def match(new: Trace, past: list[Trace], *, looks: int, sensitivity: float = 1.0) -> Match | None:
    """The likeliest place in the past of the batches that `new` has seen; None where no past compares.

    `looks` is how often this is asked after one resume; it shares the chance of a false alarm. Two
    places are asked for less evidence: none needs a lag of zero (a resume that is right, after a
    rollback), and the beginning of the first attempt is where loaders start that forget their place.
    """
    slides = [
        slide
        for old in past
        for part in _parts(new)
        if old.interval == new.interval and (slide := _slide(part, old))
    ]
    tried = looks * sum(len(slide.lag) for slide in slides)
    found = []
    for slide in slides:
        best = _whole(slide.score, int(np.argmax(slide.score)), slide.places)
        apart = np.abs(slide.lag - slide.lag[best]) > 3 * new.interval
        rival = float(slide.score[apart].max()) if apart.any() else 0.0
        clear = rival < _RIVAL * slide.score[best] and slide.correlation[best] > 0.1
        sure = clear and slide.score[best] > _limit(_CHANCE / tried) / sensitivity
        found.append(slide.at(best, sure=bool(sure)))
        source = new.first - slide.lag  # where the new attempt's first batch comes from
        is_first = slide.old is past[0]
        likely = np.flatnonzero(
            (np.abs(slide.lag) < new.interval)
            | (is_first & (np.abs(source - slide.old.first) <= new.interval))
        )
        if len(likely):
            best = _whole(slide.score, int(likely[np.argmax(slide.score[likely])]), slide.places)
            limit = _limit(_CHANCE_AT_LIKELY / (looks * len(likely))) / sensitivity
            found.append(slide.at(best, sure=bool(slide.score[best] > max(limit, rival))))
    return max(found, key=lambda one: (one.sure, one.score), default=None)


def _whole(score: FloatArray, best: int, places: int) -> int:
    """A place right on an old point, unless one between two points is clearly better than it.

    The first `places` scores are those right on a point.
    """
    on = best % places
    on = max(range(on, min(on + 2, places)), key=lambda place: float(score[place]))
    return on if score[best] ** 2 - max(score[on], 0.0) ** 2 < _CLEARLY else best


def _parts(new: Trace) -> list[Trace]:
    """All of it, and its later half: a model that was new then has left another residual early on."""
    half = new.residual.shape[1] // 2
    if half < _FEWEST:
        return [new]
    first, later = new.first + half * new.interval, new.residual[:, half:]
    return [new, _trace(new.attempt, first, new.interval, later)]


def _limit(chance: float) -> float:
    return float(-ndtri(max(chance, 1e-300)))


def _slide(new: Trace, old: Trace) -> _Slide | None:
    n, m = new.residual.shape[1], min(old.residual.shape[1], _LONGEST_PAST)
    fewest = max(_FEWEST, n // 2)
    if m < fewest:
        return None
    shares = _shares(new.interval)
    overlap = np.minimum(n, m - np.arange(m - fewest + 1))
    scores, correlations = [], []
    # both correlated with their own past: fewer points count (Bartlett)
    product = np.maximum(new.persistence, 0.0) * np.maximum(old.persistence, 0.0)
    independent = (1 - product) / (1 + product)
    for q, h, part in zip(new.residual, old.residual[:, -m:], independent, strict=True):
        correlation = _correlations(q, h, overlap, shares)
        count = np.maximum(overlap * np.mean(q != 0) * part - 3, 1e-9)
        correlations.append(correlation)
        scores.append(np.arctanh(np.clip(correlation, -0.999999, 0.999999)) * np.sqrt(count))
    weights = np.array([1.0, _SECOND])[: len(scores)]
    score = sum(weight * one for weight, one in zip(weights, scores, strict=True)) / np.sqrt(
        weights @ weights
    )
    begin = old.last - old.interval * (m - 1)
    place = np.arange(len(overlap))[None, :] + shares[:, None]
    lag = np.rint(new.first - begin - new.interval * place).astype(np.int64)
    return _Slide(
        old=old,
        places=len(overlap),
        lag=lag.ravel(),
        score=score.ravel(),
        correlation=correlations[0].ravel(),
    )


def _shares(interval: int) -> FloatArray:
    """Shares of the way from one old point to the next, whole steps each, ten at most."""
    return np.unique(np.arange(min(interval, 10)) * interval // min(interval, 10)) / interval


def _autocorrelation(x: FloatArray) -> float:
    power = float(x @ x)
    return float(x[1:] @ x[:-1]) / power if power > 0 else 0.0


def _correlations(q: FloatArray, h: FloatArray, overlap: IntArray, shares: FloatArray) -> FloatArray:
    """Of `q` with `h` from each place on [shares, places]; between two points of `h`, their weighted mean."""
    n, places = len(q), len(overlap)
    padded = np.concatenate([h, np.zeros(n + 1)])
    cross = _sliding_products(padded, q)[: places + 1]
    energy = _sliding_sum(padded[: places + n] ** 2, n)
    beside = _sliding_sum(padded[: places + n - 1] * padded[1 : places + n], n)
    own = np.cumsum(q**2)[overlap - 1]
    share = shares[:, None]
    above = (1 - share) * cross[:-1] + share * cross[1:]
    below = (1 - share) ** 2 * energy[:-1] + 2 * share * (1 - share) * beside + share**2 * energy[1:]
    correlation: FloatArray = above / np.sqrt(np.maximum(below * own, 1e-12))
    return correlation


def _sliding_sum(values: FloatArray, length: int) -> FloatArray:
    total = np.concatenate([[0.0], np.cumsum(values)])
    return np.asarray(total[length:] - total[:-length])


def _sliding_products(long: FloatArray, short: FloatArray) -> FloatArray:
    """`long[k : k + n] @ short` for every place k, by Fourier transforms of overlapping blocks.

    `scipy.signal` has this too, and costs every server 50 MB of memory to import.
    """
    n, places = len(short), len(long) - len(short) + 1
    size = next_fast_len(max(8 * n, 1024), real=True)
    hop = size - n + 1
    spectrum = np.conj(rfft(short, size))
    products = np.empty(places)
    for start in range(0, places, hop):
        block = irfft(rfft(long[start : start + size], size) * spectrum, size)
        products[start : start + hop] = block[: min(hop, places - start)]
    return products
