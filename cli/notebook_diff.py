"""Comparison of two runs for notebooks: takes tables, returns a comparison that displays itself."""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO
from typing import Any

from rich.console import Console

from holter.attempts.config_values import flatten_settings
from holter.cli.report import diff_html, diff_text
from holter.detectors.arrays import run_from_arrays
from holter.detectors.compare.axes import XAxis
from holter.detectors.compare.run_diff import DiffInput, RunDiff, diff_runs
from holter.types import ConfigKey, RunData

_WIDTH = 100


class Diff:
    """The comparison of a run with a baseline. `result` has its values, `as_json()` the same for JSON."""

    def __init__(self, result: RunDiff) -> None:
        self.result = result

    def as_json(self) -> dict[str, Any]:
        """The values as documented in docs/compare.md."""
        return self.result.as_json()

    def __repr__(self) -> str:
        """The comparison as `holter diff` prints it, without colours."""
        console = Console(file=StringIO(), width=_WIDTH, highlight=False)
        loss = self.result.loss
        curve = None if loss is None else (loss.band.x, loss.band.difference)
        diff_text.write(self.as_json(), console, curve=curve)
        assert isinstance(console.file, StringIO)
        return "\n".join(line.rstrip() for line in console.file.getvalue().rstrip().splitlines())

    def _repr_html_(self) -> str:
        """The page of `holter diff --format html`, in a frame of its own."""
        page = diff_html.page(self.result).replace("&", "&amp;").replace('"', "&quot;")
        return f'<iframe srcdoc="{page}" style="width: 100%; height: 700px; border: 0"></iframe>'


def diff(
    baseline: Mapping[str, Any],
    run: Mapping[str, Any],
    *,
    metric: str | None = None,
    x: str | None = None,
    configs: tuple[Mapping[str, Any], Mapping[str, Any]] = ({}, {}),
    names: tuple[str, str] = ("baseline", "run"),
) -> Diff:
    """Compare a run with a baseline: a comparison that displays itself.

    Both are tables as `holter.analyze` takes them: dicts of arrays or data frames with a column `step`. `x`:
    "step", "tokens", "samples", "wall" or "relative". `configs`: the settings of both, `names`: what they are
    called. Raises ValueError for tables without steps and for an unknown `x`.
    """
    inputs = [
        DiffInput(name=name, data=_data(table, config))
        for table, config, name in zip((baseline, run), configs, names, strict=True)
    ]
    return Diff(diff_runs(*inputs, axis=None if x is None else XAxis(x), metric=metric))


def _data(table: Mapping[str, Any], config: Mapping[str, Any]) -> RunData:
    run = run_from_arrays(table, None, metric="loss", attempt=None, time=None)
    settings = {ConfigKey(name): {0: value} for name, value in flatten_settings(config).items()}
    return RunData(series=run.series, config=settings)
