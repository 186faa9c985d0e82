"""A run's throughput: the figures it reports with their formulas, and Holter's own figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from holter.flops.formulas import FORMULAS
from holter.flops.frameworks import ReportedQuantity
from holter.flops.levels import CurveLevel
from holter.flops.mfu import OwnThroughput, own_throughput
from holter.flops.peaks import Peaks
from holter.flops.reported import ReportedFigure, reported_figures
from holter.types import RunData

EQUAL_WITHIN = 0.02
"""Relative difference up to which two figures count as equal: logs round, and intervals differ."""


LOWEST_TFLOPS, HIGHEST_TFLOPS = 1e-12, 1e12
"""TFLOPS of a device outside of which a figure is not a speed, but a number that should not be in a log."""


@dataclass(frozen=True, eq=False, kw_only=True)
class RunThroughput:
    """The figures that a run reports, each with its formula, and Holter's own figures, never mixed."""

    reported: tuple[ReportedFigure, ...]
    own: OwnThroughput

    @property
    def has_content(self) -> bool:
        """Whether there is anything to show: a reported figure, or a speed of the run."""
        return bool(self.reported) or self.own.series is not None


def run_throughput(run: RunData, peaks: Peaks) -> RunThroughput:
    """A run's throughput, computed from its logs up to now; nothing of it is stored."""
    # values near the limits of a float overflow on the way, into infinities that are handled later
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        own = own_throughput(run, peaks)
        return RunThroughput(reported=tuple(reported_figures(run, own)), own=own)


def describe_formula(figure: ReportedFigure, own: OwnThroughput) -> str:
    """The formula of a reported figure in words.

    It follows from the framework; where its versions use different formulas, from the one that gives the
    reported numbers.
    """
    if figure.framework is None:
        return "a formula that its log does not name"
    formulas = [FORMULAS[name] for name in figure.framework.formulas]
    if not formulas:
        return figure.framework.how
    matching = matching_formula(figure, own)
    if matching is not None:
        return FORMULAS[matching].title
    return " or ".join(formula.title for formula in formulas)


def matching_formula(figure: ReportedFigure, own: OwnThroughput) -> str | None:
    """The name of the framework's formula that gives a reported TFLOPS; None where none does."""
    if figure.framework is None:
        return None
    if len(figure.framework.formulas) == 1:
        return figure.framework.formulas[0]
    if figure.quantity is not ReportedQuantity.TFLOPS or figure.level is None:
        return None
    by_formula = {name: level_by_formula(name, own) for name in figure.framework.formulas}
    near = [
        (abs(level.typical / figure.level.typical - 1), name)
        for name, level in by_formula.items()
        if level is not None
    ]
    best = min(near, default=None)
    return best[1] if best is not None and best[0] <= EQUAL_WITHIN else None


def level_by_formula(name: str, own: OwnThroughput) -> CurveLevel | None:
    """TFLOPS of one device by a formula of this name; None where shape or speed are unknown."""
    shape, tokens = own.launch.shape, own.level(own.tokens)
    if shape is None or tokens is None:
        return None
    recomputed = own.launch.recomputed is not None and own.launch.recomputed.value == "layers"
    per_token = FORMULAS[name].per_token(shape, recomputed) / 1e12
    if not LOWEST_TFLOPS < tokens.typical * per_token < HIGHEST_TFLOPS:
        return None
    return CurveLevel(
        newest=tokens.newest * per_token,
        typical=tokens.typical * per_token,
        best=tokens.best * per_token,
    )


def throughput_json(throughput: RunThroughput) -> dict[str, Any]:
    """A run's throughput as JSON-able values (docs/throughput.md)."""
    return {
        "reported": [_reported_json(figure, throughput.own) for figure in throughput.reported],
        "own": _own_json(throughput.own),
    }


def _reported_json(figure: ReportedFigure, own: OwnThroughput) -> dict[str, Any]:
    key = figure.series.key
    return {
        "metric": str(key.metric),
        "labels": dict(key.labels),
        "quantity": figure.quantity.value,
        "framework": figure.framework.name if figure.framework is not None else None,
        "formula": describe_formula(figure, own),
        **_level_json(figure.level),
    }


def _own_json(own: OwnThroughput) -> dict[str, Any]:
    peak, shape = own.launch.device.peak, own.launch.shape
    own_formula = FORMULAS["holter"]
    return {
        "formula": own_formula.title,
        "measured_from": str(own.series.key) if own.series is not None else None,
        "tokens_per_second_per_device": _level_json(own.level(own.tokens)),
        "tflops": _level_json(own.level(own.tflops)),
        "mfu": _level_json(own.level(own.mfu)),
        "hfu": _level_json(own.level(own.hfu)),
        "recomputed": own.launch.recomputed.value if own.launch.recomputed is not None else None,
        "flops_per_token": own_formula.per_token(shape, False) if shape is not None else None,
        "parameters": shape.parameters if shape is not None else None,
        "active_weights": shape.active_weights if shape is not None else None,
        "devices": own.launch.devices,
        "device": own.launch.device.name,
        "peak_tflops": peak.tflops if peak is not None else None,
        "peak_source": peak.source if peak is not None else None,
        "precision": own.launch.device.precision.value,
        "precision_assumed": own.launch.device.precision_assumed,
        "missing": list(own.missing),
    }


def _level_json(level: CurveLevel | None) -> dict[str, float | None]:
    if level is None:
        return {"newest": None, "usual": None, "best": None}
    return {"newest": level.newest, "usual": level.typical, "best": level.best}
