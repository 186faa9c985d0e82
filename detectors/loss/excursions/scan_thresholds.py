"""All thresholds of the scan for excursions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holter.detectors.loss.excursions.alarm_strength import AlarmThresholds
from holter.detectors.loss.excursions.baseline import BaselineThresholds
from holter.detectors.loss.excursions.excursion import TrainThresholds
from holter.detectors.loss.excursions.excursion_points import RecoveryThresholds
from holter.detectors.loss.excursions.periodic_jumps import PeriodicJumpThresholds
from holter.detectors.loss.excursions.restart_level import RestartThresholds
from holter.detectors.loss.excursions.usual_rises import UsualRiseThresholds
from holter.detectors.thresholds import Thresholds


@dataclass(frozen=True, kw_only=True)
class ScanThresholds(Thresholds):
    """How the scan finds the level before an excursion and the point at which it began."""

    noise_grid: tuple[tuple[float, int, int], ...] = (
        (64, 8, 8),
        (256, 64, 16),
        (1024, 64, 32),
        (4096, 64, 64),
        (65536, 512, 512),
        (np.inf, 2048, 2048),
    )
    """Up to this many points known, the noise is measured anew after this many, less often later in a long
    series, and taken if it has grown after that many: early on it may grow tenfold within fifty points."""
    noise_growth: float = 1.5
    """Ratio from which it has grown: estimates from 64 points differ by a fifth (one sigma) by chance."""
    level_points: int = 64
    """Points whose mean is the level before an excursion."""
    slow_points: int = 32
    """Points. Before a rise detected by this many or more, the level is the lowest of the recent levels."""
    look_back_points: int = 512
    """Points among which the lowest recent level is searched for."""
    onset_points: int = 5
    """Points up to the alarm among which the onset is searched for, at least; otherwise those of the
    alarm."""
    onset_clip_sigmas: float = 6.0
    """Sigmas. A point counts at most this much in the search for the onset."""
    onset_jump: float = 4.0
    """Times its mean before that an excursion jumps to, beyond what counts of a point: it began there."""
    recent_points: int = 16
    """Points whose mean is the level where it is clearly lower than that of `level_points`: a loss that
    falls."""
    recent_errors: float = 3.0
    """Standard errors by which it is clearly lower."""
    onset_mean_points: int = 3
    """Points whose mean must be high at the onset."""
    onset_share: float = 0.5
    """Share of the mean height of the excursion that the mean at the onset must reach; at least one sigma."""
    onset_point_sigmas: float = 0.5
    """Sigmas that the first point of an excursion must be above the level."""
    continued_share: float = 0.5
    """Share of the rise of an excursion that lasts, below which a further rise is part of it."""
    strongest: float = 1e6
    """Strengths are limited to this, so that they stay finite."""


@dataclass(frozen=True, kw_only=True)
class ExcursionThresholds(Thresholds):
    """All thresholds of the detection of excursions."""

    baseline: BaselineThresholds = BaselineThresholds()
    """How the level, the noise and the trend are measured."""
    alarms: AlarmThresholds = AlarmThresholds()
    """How much evidence makes an excursion."""
    usual_rises: UsualRiseThresholds = UsualRiseThresholds()
    """How far a mean must exceed the rises that the series has shown over its horizon."""
    recovery: RecoveryThresholds = RecoveryThresholds()
    """When an excursion is over, settled or a drift."""
    restart: RestartThresholds = RestartThresholds()
    """When a loss counts as moved by a restart."""
    scan: ScanThresholds = ScanThresholds()
    """How the level before an excursion and its onset are found."""
    trains: TrainThresholds = TrainThresholds()
    """When rises in sequence belong to one train of spikes."""
    jumps: PeriodicJumpThresholds = PeriodicJumpThresholds()
    """When a rise began at a jump of a series that jumps at equal distances."""
