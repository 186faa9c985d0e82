"""Whether two curves differ by more than their noise, by how much, and since when.

The difference of the curves is averaged over the newest half of the range that both cover. Its interval has
two parts. The noise of single points, which may be correlated over many points, is estimated by the circular
block bootstrap of Politis and Romano (1992), whose variance of a mean has a closed form, so that nothing is
drawn at random; the length of blocks is that of Politis and White (2004), with the correction of Patton,
Politis and White (2009). Second, two runs that differ by the seed only settle at levels that differ, and the
points of one pair do not show by how much: no estimate from within the averaged range can see what is
constant in it (Mueller 2014, "HAC corrections for strongly autocorrelated time series"). This part is
estimated from how far the difference moved between octaves of training, together with a prior scale, as a
variance with few degrees of freedom. Where repeated runs of the same settings are known, their spread takes
the place of the prior.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from holter.detectors.compare.grid import GriddedCurve
from holter.detectors.robust_statistics import MAD_TO_SIGMA
from holter.detectors.thresholds import Thresholds
from holter.types import FloatArray


@dataclass(frozen=True, kw_only=True)
class ComparisonThresholds(Thresholds):
    """How the difference of two curves is judged."""

    confidence: float = 0.95
    """Probability that an interval contains the difference."""
    intervals: int = 2048
    """Intervals of x over the common range, at most: enough for a hundred blocks."""
    least_intervals: int = 16
    """Intervals of the averaged range below which nothing can be said."""
    band_intervals: int = 48
    """Intervals of the curve of differences that is shown with its interval."""
    least_blocks: int = 8
    """Blocks of the averaged range at least: the variance of fewer is not known well enough."""
    seed_spread: float = 0.007
    """Standard deviation of the difference of two runs that differ by the seed, relative to the loss: half a
    percent for each run. Assumed, since one pair cannot show it; small models differ by more, large ones by
    less. Measured repetitions gradually take its place."""
    seed_freedom: float = 4.0
    """Degrees of freedom of the prior: as much as four octaves of this pair say."""
    repeat_spread: float = 0.0005
    """The same where both runs began from the same weights with the same batches."""
    octave_correlation: float = 0.7
    """Correlation of the difference of two seeds between neighbouring octaves of training."""
    largest_move: float = 3.0
    """Times `seed_spread` that a move between octaves counts for at most: a larger one is no wander of seeds,
    but a difference that begins, and must not hide itself."""
    octaves: int = 4
    """Newest octaves of training that are looked at: earlier ones are about the beginning."""
    octave_points: int = 32
    """Points of an octave at least."""
    paired_correlation: float = 0.1
    """Correlation of the noise from which on two runs count as having seen the same batches."""
    paired_errors: float = 6.0
    """Standard errors by which this correlation exceeds zero."""
    paired_points: int = 16_384
    """Newest common points from which the correlation is measured."""
    same_start: float = 3e-4
    """Relative difference of the first common points up to which both began from the same weights: more than
    rounding, far less than what other initial weights make."""
    power: float = 0.8
    """Probability with which a difference of the smallest detectable size is shown."""
    wanted: float = 0.01
    """The relative difference for which the necessary length is stated."""


_THRESHOLDS = ComparisonThresholds()


class Curve(NamedTuple):
    """A curve without superseded points: x [n] ascending, and finite values [n]."""

    x: FloatArray
    value: FloatArray

    @classmethod
    def empty(cls) -> Curve:
        """A curve without points."""
        return cls(np.empty(0), np.empty(0))


class SeedSpread(NamedTuple):
    """The spread between runs that differ by the seed only, relative to their level, and its freedom."""

    relative: float
    freedom: float


class IntervalBand(NamedTuple):
    """Differences over intervals of x by their centers, with the interval of each; arrays [m]."""

    x: FloatArray
    difference: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, eq=False, kw_only=True)
class CurveDifference:
    """The difference of a curve from a baseline's at equal x, averaged over `from_x` to `to_x`.

    `low` and `high` are the interval of `difference`, `level` is the baseline's mean, `sigma` the standard
    deviation of single points, `noise_error` and `seed_error` the two parts of the standard error.
    `detectable` is the smallest relative difference that is shown with a probability of 80 %; `needed_x` how
    far both would have to run to show 1 %, None where they have or no length suffices. `since_x`: from where
    on they differ this way. `paired`: the runs saw the same batches; `same_start`: they also began from the
    same weights.
    """

    points: int
    from_x: float
    to_x: float
    level: float
    difference: float
    low: float
    high: float
    sigma: float
    noise_error: float
    seed_error: float
    block_points: int
    paired: bool
    same_start: bool
    correlation: float | None
    since_x: float | None
    detectable: float | None
    needed_x: float | None
    band: IntervalBand

    @property
    def sign(self) -> int:
        """-1 where the curve is lower than the baseline's, 1 where it is higher, 0 where neither is shown."""
        return -1 if self.high < 0 else 1 if self.low > 0 else 0

    def relative(self, value: float) -> float | None:
        """A difference as a share of the baseline's level; None for a level that is not positive."""
        return value / self.level if self.level > 0 else None


class _Aligned(NamedTuple):
    """Both curves over the same intervals [m] of equal width that have points of both."""

    edges: FloatArray
    center: FloatArray
    difference: FloatArray
    baseline: FloatArray
    points: FloatArray  # points of the curve with fewer in each interval


class CurvePair(NamedTuple):
    """What a comparison takes from the points of a curve and a baseline, in little memory.

    `correlation`: of the noise of both, where it shows that the runs saw the same batches, else None;
    `same_start`: they also began from the same weights.
    """

    aligned: _Aligned
    correlation: float | None
    same_start: bool

    @property
    def limits(self) -> tuple[float, float]:
        """The common range of x."""
        return float(self.aligned.edges[0]), float(self.aligned.edges[-1])

    @property
    def middle(self) -> float:
        """The middle of the common range, from which on the difference is averaged."""
        low, high = self.limits
        return low + (high - low) / 2


def compare_curves(
    curve: Curve,
    baseline: Curve,
    *,
    spread: SeedSpread | None = None,
    to_x: float | None = None,
    thresholds: ComparisonThresholds = _THRESHOLDS,
) -> CurveDifference | None:
    """The difference of a curve from a baseline; None where they have too few points at common x.

    `spread`: that of repeated runs, where it is known. `to_x`: only points up to there count. Takes a time
    proportional to the number of points; 10 ms for a million.
    """
    pair = pair_curves(GriddedCurve(*curve), GriddedCurve(*baseline), to_x=to_x, thresholds=thresholds)
    return None if pair is None else compare_pair(pair, spread=spread, thresholds=thresholds)


def pair_curves(
    curve: GriddedCurve,
    baseline: GriddedCurve,
    *,
    to_x: float | None = None,
    thresholds: ComparisonThresholds = _THRESHOLDS,
) -> CurvePair | None:
    """A curve and a baseline at equal x; None where they have too few points there."""
    aligned = _align(curve, baseline, to_x, thresholds)
    if aligned is None:
        return None
    pair = CurvePair(aligned, None, same_start=False)
    if np.count_nonzero(aligned.center >= pair.middle) < thresholds.least_intervals:
        return None
    mine, theirs = (Curve(each.x, each.value) for each in (curve, baseline))
    correlation = paired_correlation(mine, theirs, (pair.middle, pair.limits[1]), thresholds)
    same_start = correlation is not None and _same_start(mine, theirs, pair.limits[0], thresholds)
    return pair._replace(correlation=correlation, same_start=same_start)


def compare_pair(
    pair: CurvePair, *, spread: SeedSpread | None = None, thresholds: ComparisonThresholds = _THRESHOLDS
) -> CurveDifference:
    """The difference of a curve from its baseline: see `compare_curves`."""
    aligned = pair.aligned
    low, high = pair.limits
    newest = aligned.center >= pair.middle
    difference = aligned.difference[newest]
    level = float(np.mean(aligned.baseline[newest]))
    noise = _mean_noise(difference, thresholds)
    scale = abs(level) if level > 0 else float(np.ptp(aligned.baseline))
    seed, freedom = _seed_error(
        aligned, scale, noise, same_start=pair.same_start, spread=spread, thresholds=thresholds
    )
    error = float(np.hypot(noise.error, seed))
    limit = _critical(noise, seed, freedom, thresholds)
    mean = float(np.mean(difference))
    band = _band(aligned, noise, seed, freedom, thresholds)
    detectable, needed = _necessary(noise, seed, limit, scale, high - low, thresholds)
    half = limit * error
    per_interval = float(np.mean(aligned.points[newest]))
    return CurveDifference(
        points=int(np.sum(aligned.points[newest])),
        from_x=pair.middle,
        to_x=high,
        level=level,
        difference=mean,
        low=mean - half,
        high=mean + half,
        sigma=noise.sigma * per_interval**0.5,
        noise_error=noise.error,
        seed_error=seed,
        block_points=max(round(noise.block * per_interval), 1),
        paired=pair.correlation is not None,
        same_start=pair.same_start,
        correlation=pair.correlation,
        since_x=_since(band, -1 if mean + half < 0 else 1 if mean - half > 0 else 0),
        detectable=detectable,
        needed_x=None if needed is None else low + needed,
        band=band,
    )


def _align(
    curve: GriddedCurve, baseline: GriddedCurve, to_x: float | None, thresholds: ComparisonThresholds
) -> _Aligned | None:
    """Both curves over common intervals; None without a common range."""
    if not len(curve.x) or not len(baseline.x):
        return None
    low = max(float(curve.x[0]), float(baseline.x[0]))
    high = min(float(curve.x[-1]), float(baseline.x[-1]), np.inf if to_x is None else to_x)
    if not low < high:
        return None
    fewest = min(
        int(np.searchsorted(each.x, high, side="right") - np.searchsorted(each.x, low))
        for each in (curve, baseline)
    )
    count = min(thresholds.intervals, fewest)
    if count < 2:
        return None
    edges = np.append(np.linspace(low, high, count + 1)[:-1], np.nextafter(high, np.inf))
    mine, theirs = curve.means(edges), baseline.means(edges)
    both = (mine.points > 0) & (theirs.points > 0)
    return _Aligned(
        edges,
        ((edges[:-1] + edges[1:]) / 2)[both],
        (mine.mean - theirs.mean)[both],
        theirs.mean[both],
        np.minimum(mine.points, theirs.points)[both].astype(np.float64),
    )


class _Noise(NamedTuple):
    """The noise of a mean difference: its standard error with its degrees of freedom.

    `block`: intervals per block; `sigma`: the standard deviation of an interval; `inflation`: by what
    correlation multiplies the variance of a mean.
    """

    error: float
    freedom: float
    block: int
    sigma: float
    inflation: float


def _mean_noise(difference: FloatArray, thresholds: ComparisonThresholds) -> _Noise:
    """The noise of the mean of differences over intervals [n], from their residuals about a line."""
    count = len(difference)
    position = np.linspace(-1.0, 1.0, count)
    residual = difference - np.mean(difference)
    residual = residual - position * (residual @ position) / (position @ position)
    sigma = float(np.sqrt(residual @ residual / max(count - 2, 1)))
    longest = max(count // thresholds.least_blocks, 1)
    block = min(block_length(residual), longest)
    variance = max(block_bootstrap_variance(residual, block), sigma**2 / count)
    freedom = max(count / block - 2, thresholds.least_blocks - 2)
    inflation = variance * count / sigma**2 if sigma > 0 else 1.0
    return _Noise(float(np.sqrt(variance)), freedom, block, sigma, inflation)


def block_bootstrap_variance(residual: FloatArray, block: int) -> float:
    """The variance of the mean of residuals [n] by the circular block bootstrap.

    The mean over all n circular blocks of the squared mean of a block, times the share of a block in all
    (Politis and Romano 1992, "A circular block-resampling procedure for stationary data"): what infinitely
    many resamples would give.
    """
    count = len(residual)
    totals = np.concatenate(([0.0], np.cumsum(np.concatenate((residual, residual[: block - 1])))))
    means = (totals[block:] - totals[:-block]) / block
    return float(np.mean((means - np.mean(means)) ** 2) * block / count)


def block_length(residual: FloatArray) -> int:
    """The length of blocks that is best for residuals [n] in the circular block bootstrap, at least 1.

    Politis and White (2004), "Automatic block-length selection for the dependent bootstrap", with the
    correction of Patton, Politis and White (2009): a flat-top window of the autocorrelations up to where
    they become insignificant.
    """
    count = len(residual)
    if count < 4 or not np.any(residual):
        return 1
    most = min(int(np.ceil(np.sqrt(count))) + 20, count - 1)
    transformed = np.fft.rfft(residual, 2 * count)
    covariance = np.fft.irfft(transformed * np.conj(transformed))[: 2 * most + 1] / count
    correlation = covariance / covariance[0]
    run = max(5, int(np.ceil(np.sqrt(np.log10(count)))))
    small = np.abs(correlation[1 : most + 1]) < 2 * np.sqrt(np.log10(count) / count)
    ends = np.flatnonzero(np.convolve(small, np.ones(run), "valid") == run)
    last = int(ends[0]) if len(ends) else most
    if last == 0:
        return 1
    lags = np.arange(-2 * last, 2 * last + 1)
    lags = lags[np.abs(lags) < len(covariance)]
    share = np.abs(lags) / (2 * last)
    weight = np.where(share <= 0.5, 1.0, 2 * (1 - share))
    weighted = weight * covariance[np.abs(lags)]
    spectrum = float(np.sum(weighted))
    slope = float(np.sum(weighted * np.abs(lags)))
    if spectrum <= 0:
        return last
    best = (2 * slope**2 / (4 / 3 * spectrum**2)) ** (1 / 3) * count ** (1 / 3)
    return int(np.clip(round(best), 1, np.ceil(min(3 * np.sqrt(count), count / 3))))


def paired_correlation(
    curve: Curve, baseline: Curve, limits: tuple[float, float], thresholds: ComparisonThresholds = _THRESHOLDS
) -> float | None:
    """The correlation of the noise of two curves at common x, where it shows that both saw the same batches.

    Differences of neighbouring points have no trend; outliers are clipped. None where x differ, or where the
    correlation is not more than chance.
    """
    mine, theirs = (_newest(each, limits, thresholds.paired_points) for each in (curve, baseline))
    if len(mine.x) != len(theirs.x) or len(mine.x) < thresholds.octave_points or np.any(mine.x != theirs.x):
        return None
    first, second = (_clipped(np.diff(each.value)) for each in (mine, theirs))
    power = _product(first, first) * _product(second, second)
    if power <= 0:
        return None
    correlation = _product(first, second) / np.sqrt(power)
    # differences of neighbours are correlated with each other: a variance of 1.5 instead of 1
    errors = np.arctanh(min(correlation, 0.999999)) * np.sqrt((len(first) - 3) / 1.5)
    is_paired = errors > thresholds.paired_errors and correlation > thresholds.paired_correlation
    return float(correlation) if is_paired else None


def _product(first: FloatArray, second: FloatArray) -> float:
    """The scalar product. Without BLAS, whose threads wait for each other on a busy machine."""
    return float(np.einsum("i,i->", first, second))


def _newest(curve: Curve, limits: tuple[float, float], points: int) -> Curve:
    end = int(np.searchsorted(curve.x, limits[1], side="right"))
    begin = max(int(np.searchsorted(curve.x, limits[0])), end - points)
    return Curve(curve.x[begin:end], curve.value[begin:end])


def _clipped(values: FloatArray) -> FloatArray:
    center = np.median(values)
    limit = 5 * MAD_TO_SIGMA * np.median(np.abs(values - center))
    clipped: FloatArray = np.clip(values - center, -limit, limit)
    return clipped


def _same_start(curve: Curve, baseline: Curve, low: float, thresholds: ComparisonThresholds) -> bool:
    """Whether the first common points are equal: the same weights, on the same batch."""
    mine, theirs = (int(np.searchsorted(each.x, low)) for each in (curve, baseline))
    if curve.x[mine] != baseline.x[theirs]:
        return False
    a, b = float(curve.value[mine]), float(baseline.value[theirs])
    return abs(a - b) <= thresholds.same_start * max(abs(a), abs(b))


def _seed_error(
    aligned: _Aligned,
    scale: float,
    noise: _Noise,
    *,
    same_start: bool,
    spread: SeedSpread | None,
    thresholds: ComparisonThresholds,
) -> tuple[float, float]:
    """The standard error of the level that seeds give, with its degrees of freedom."""
    prior = (thresholds.repeat_spread if same_start else thresholds.seed_spread) * scale
    freedom, total = thresholds.seed_freedom, thresholds.seed_freedom * prior**2
    if spread is not None and not same_start:
        freedom, total = freedom + spread.freedom, total + spread.freedom * (spread.relative * scale) ** 2
    else:
        independent = 2 * (1 - thresholds.octave_correlation)
        largest = independent * (thresholds.largest_move * thresholds.seed_spread * scale) ** 2
        moved, octaves = _octave_moves(aligned, noise, largest, thresholds)
        freedom, total = freedom + octaves, total + moved / independent
    return float(np.sqrt(total / freedom)), freedom


def _octave_moves(
    aligned: _Aligned, noise: _Noise, largest: float, thresholds: ComparisonThresholds
) -> tuple[float, int]:
    """The sum of squares by which the difference moved between octaves, without noise, and their number.

    A move whose square exceeds `largest` counts as much as that.
    """
    low, high = float(aligned.edges[0]), float(aligned.edges[-1])
    means, variances = [], []
    for octave in range(thresholds.octaves):
        begin, end = low + (high - low) / 2 ** (octave + 1), low + (high - low) / 2**octave
        rows = (aligned.center >= begin) & (aligned.center < end)
        count = int(np.count_nonzero(rows))
        if count < 4 or float(np.sum(aligned.points[rows])) < thresholds.octave_points:
            break
        values = aligned.difference[rows]
        local = float(np.mean(np.diff(values) ** 2)) / 2
        means.append(float(np.mean(values)))
        variances.append(max(local, noise.sigma**2) * max(noise.inflation, 1.0) / count)
    moves = np.diff(means) ** 2 - np.array(variances[:-1]) - np.array(variances[1:])
    return max(float(np.sum(np.minimum(moves, largest))), 0.0), len(moves)


def _critical(noise: _Noise, seed: float, freedom: float, thresholds: ComparisonThresholds) -> float:
    """Standard errors of half an interval: Student's, with the degrees of freedom of Satterthwaite (1946)."""
    total = noise.error**2 + seed**2
    if total <= 0:
        return 0.0
    effective = total**2 / (noise.error**4 / noise.freedom + seed**4 / freedom)
    return float(stdtrit(max(effective, 1.0), 0.5 + thresholds.confidence / 2))


def _band(
    aligned: _Aligned, noise: _Noise, seed: float, freedom: float, thresholds: ComparisonThresholds
) -> IntervalBand:
    """The difference over wider intervals, each with its own interval."""
    low, high = float(aligned.edges[0]), float(aligned.edges[-1])
    count = min(thresholds.band_intervals, max(len(aligned.center) // 4, 1))
    edges = np.linspace(low, high, count + 1)
    index = np.clip(np.searchsorted(edges, aligned.center, side="right") - 1, 0, count - 1)
    filled = np.flatnonzero(np.bincount(index, minlength=count))
    number = np.bincount(index, minlength=count)[filled]
    mean = np.bincount(index, aligned.difference, minlength=count)[filled] / number
    jumps = np.append(np.diff(aligned.difference) ** 2 / 2, 0.0)
    local = np.bincount(index, jumps, minlength=count)[filled] / number
    variance = np.maximum(local, noise.sigma**2 / 4) * max(noise.inflation, 1.0) / number
    error = np.sqrt(variance + seed**2)
    half = float(stdtrit(freedom + 4, 0.5 + thresholds.confidence / 2)) * error
    return IntervalBand(((edges[:-1] + edges[1:]) / 2)[filled], mean, mean - half, mean + half)


def _since(band: IntervalBand, sign: int) -> float | None:
    """From where on all differences but few have the sign of the newest; None without one."""
    if sign == 0 or not len(band.x):
        return None
    shown = (band.high < 0) if sign < 0 else (band.low > 0)
    # single intervals may contradict by chance: means of several count
    width = max(len(band.x) // 8, 1)
    totals = np.concatenate(([0.0], np.cumsum(band.difference)))
    ends = np.minimum(np.arange(len(band.x)) + width, len(band.x))
    agrees = np.sign(totals[ends] - totals[ends - width]) == sign
    # the newest part without a contradiction, from its first interval that shows the difference alone
    first = len(agrees) - int(np.argmin(agrees[::-1])) if not agrees.all() else 0
    rows = np.flatnonzero(shown[first:])
    return float(band.x[first + rows[0]]) if len(rows) else float(band.x[min(first, len(band.x) - 1)])


def _necessary(
    noise: _Noise, seed: float, limit: float, scale: float, length: float, thresholds: ComparisonThresholds
) -> tuple[float | None, float | None]:
    """The smallest relative difference that is detectable, and the length of x that shows the wanted one.

    The length is None where the present one suffices, or where no length does, since seeds differ by more.
    """
    if scale <= 0:
        return None, None
    # standard normal quantile of the power, by Student's with many degrees of freedom
    errors = limit + float(stdtrit(1e6, thresholds.power))
    detectable = errors * float(np.hypot(noise.error, seed)) / scale
    rest = (thresholds.wanted * scale / errors) ** 2 - seed**2
    if detectable <= thresholds.wanted or rest <= 0:
        return detectable, None
    return detectable, length * noise.error**2 / rest
