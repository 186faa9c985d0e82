"""The truth on a run's throughput: what it reports and by whose formula, beside what Holter makes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from holter.flops.formulas import FORMULAS
from holter.flops.frameworks import Quantity
from holter.flops.levels import Level
from holter.flops.mfu import Own, own_of
from holter.flops.peaks import Peaks
from holter.flops.reported import Reported, reported_of
from holter.types import RunData

ALIKE = 0.02
"""Figures that differ by no more are taken for the same: logs round, intervals differ."""


LEAST, MOST = 1e-12, 1e12
"""TFLOPS of a device beyond which there is no speed, but a number that logs should not hold."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Throughput:
    """What a run reports, each with the formula that it goes by, and Holter's own figures. Never mixed."""

    reported: tuple[Reported, ...]
    own: Own

    @property
    def speaks(self) -> bool:
        """Whether there is anything to show: something reported, or a speed of the run."""
        return bool(self.reported) or self.own.series is not None


def throughput_of(run: RunData, peaks: Peaks) -> Throughput:
    """A run's throughput, worked out from what its logs say, as of now. Pure: nothing of it is stored."""
    # values at the edge of what a float holds overflow on the way, into infinities that are dealt with
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        return Throughput(reported=tuple(reported_of(run)), own=own_of(run, peaks))


def formula_of(one: Reported, own: Own) -> str:
    """By which formula a series was reported, in words: told by the framework, and where that changed its
    formula, by which one the numbers fit.
    """
    if one.framework is None:
        return "a formula that its log does not name"
    known = [FORMULAS[name] for name in one.framework.formulas]
    if not known:
        return one.framework.how
    fitting = fits(one, own)
    if fitting is not None:
        return FORMULAS[fitting].title
    return " or ".join(formula.title for formula in known)


def fits(one: Reported, own: Own) -> str | None:
    """The name of the formula of its framework that a reported TFLOPS goes by, as the numbers tell."""
    if one.framework is None:
        return None
    if len(one.framework.formulas) == 1:
        return one.framework.formulas[0]
    if one.quantity is not Quantity.TFLOPS or one.level is None:
        return None
    by_formula = {name: by(name, own) for name in one.framework.formulas}
    near = [
        (abs(level.usual / one.level.usual - 1), name)
        for name, level in by_formula.items()
        if level is not None
    ]
    best = min(near, default=None)
    return best[1] if best is not None and best[0] <= ALIKE else None


def by(name: str, own: Own) -> Level | None:
    """TFLOPS of one device as another formula would have them; None where too little is known."""
    shape, tokens = own.launch.shape, own.level(own.tokens)
    if shape is None or tokens is None:
        return None
    recomputed = own.launch.recomputed is not None and own.launch.recomputed.value == "layers"
    each = FORMULAS[name].per_token(shape, recomputed) / 1e12
    if not LEAST < tokens.usual * each < MOST:
        return None
    return Level(newest=tokens.newest * each, usual=tokens.usual * each, best=tokens.best * each)


def as_json(found: Throughput) -> dict[str, Any]:
    """What was found as JSON-able values (docs/throughput.md)."""
    return {
        "reported": [_reported(one, found.own) for one in found.reported],
        "own": _own(found.own),
    }


def _reported(one: Reported, own: Own) -> dict[str, Any]:
    key = one.series.key
    return {
        "metric": str(key.metric),
        "labels": dict(key.labels),
        "quantity": one.quantity.value,
        "framework": one.framework.name if one.framework is not None else None,
        "formula": formula_of(one, own),
        **_level(one.level),
    }


def _own(own: Own) -> dict[str, Any]:
    peak, shape = own.launch.device.peak, own.launch.shape
    own_formula = FORMULAS["holter"]
    return {
        "formula": own_formula.title,
        "measured_from": str(own.series.key) if own.series is not None else None,
        "tokens_per_second_per_device": _level(own.level(own.tokens)),
        "tflops": _level(own.level(own.tflops)),
        "mfu": _level(own.level(own.mfu)),
        "hfu": _level(own.level(own.hfu)),
        "recomputed": own.launch.recomputed.value if own.launch.recomputed is not None else None,
        "flops_per_token": own_formula.per_token(shape, False) if shape is not None else None,
        "parameters": shape.parameters if shape is not None else None,
        "active_weights": shape.active_weights if shape is not None else None,
        "devices": own.launch.devices,
        "device": own.launch.device.name,
        "peak_tflops": peak.tflops if peak is not None else None,
        "peak_source": peak.source if peak is not None else None,
        "precision": own.launch.device.precision.value,
        "precision_assumed": own.launch.device.assumed,
        "missing": list(own.missing),
    }


def _level(level: Level | None) -> dict[str, float | None]:
    if level is None:
        return {"newest": None, "usual": None, "best": None}
    return {"newest": level.newest, "usual": level.usual, "best": level.best}
