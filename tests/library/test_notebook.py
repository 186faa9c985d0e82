"""Holter as a library: takes arrays and data frames, returns findings that display themselves."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import holter
from holter.cli.notebook import Findings
from holter.detectors.arrays import run_from_arrays
from holter.types import RunData, Series, SeriesKey
from tests.support.curves import loss_curve

pytestmark = pytest.mark.slow


def spiky() -> pd.DataFrame:
    """A frame with a spike of the loss."""
    loss = loss_curve(np.random.default_rng(0), 3000)
    loss[1500:1530] += 4.0
    return pd.DataFrame({"step": np.arange(3000), "loss": loss})


def columns_of(table: object) -> RunData:
    return run_from_arrays(table, None, metric="loss", attempt=None, time=None)  # type: ignore[arg-type]


def values(run: RunData, metric: str, **labels: str) -> Series:
    return run.series[SeriesKey(metric, tuple(sorted(labels.items())))]


class TestFrames:
    def test_the_index_has_the_steps_where_it_is_named_so(self) -> None:
        (finding,) = holter.analyze(spiky().set_index("step"))
        assert finding.start_step == 1500

    def test_a_column_with_gaps_throughout_was_not_logged_there(self) -> None:
        frame = spiky()
        frame["eval/loss"] = frame["loss"].where(frame["step"] % 100 == 0)
        frame["lr"] = frame["loss"].where(frame["step"] % 2 == 0)
        run = columns_of(frame)
        assert len(values(run, "eval/loss")) == 30
        assert len(values(run, "lr")) == 1500
        assert len(values(run, "loss")) == 3000

    def test_a_loss_that_becomes_nan_is_nan(self) -> None:
        frame = spiky()
        frame.loc[2800:, "loss"] = np.nan
        assert "nonfinite" in [finding.kind for finding in holter.analyze(frame)]

    def test_a_sparse_column_that_ends_in_nan_is_nan_from_there_on(self) -> None:
        frame = spiky()
        sparse = frame["loss"].where(frame["step"] % 10 == 0)
        sparse[2000:] = np.nan
        frame["loss"] = sparse
        loss = values(columns_of(frame), "loss")
        assert np.isnan(loss.value).sum() == 3000 - 1991
        assert loss.step[np.isnan(loss.value)][0] == 1991

    def test_a_column_that_begins_late_was_not_logged_before(self) -> None:
        frame = spiky()
        frame["grad_norm"] = frame["loss"].where(frame["step"] >= 2500)
        assert len(values(columns_of(frame), "grad_norm")) == 500

    def test_in_a_dict_nan_is_a_value_and_none_is_not(self) -> None:
        run = columns_of({"step": [1, 2, 3], "loss": [1.0, np.nan, None]})
        assert len(values(run, "loss")) == 2

    def test_masked_cells_were_not_logged(self) -> None:
        masked = np.ma.masked_array([1.0, 2.0, 3.0], mask=[False, True, False])  # type: ignore[no-untyped-call]
        assert values(columns_of({"step": [1, 2, 3], "loss": masked}), "loss").step.tolist() == [1, 3]

    def test_nullable_columns_are_read(self) -> None:
        frame = pd.DataFrame({"step": [1, 2, 3], "loss": pd.array([1, None, 3], dtype="Int64")})
        assert values(columns_of(frame), "loss").value.tolist() == [1.0, 3.0]

    @pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
    def test_dates_are_seconds(self, zone: str | None) -> None:
        dates = pd.to_datetime([1.7e9, 1.7e9 + 60], unit="s", utc=True)
        dates = dates.tz_localize(None) if zone is None else dates.tz_convert(zone)
        run = columns_of(pd.DataFrame({"step": [1, 2], "timestamp": dates, "loss": [1.0, 2.0]}))
        assert values(run, "loss").time.tolist() == [1.7e9, 1.7e9 + 60]

    def test_texts_are_no_metric(self) -> None:
        run = columns_of(pd.DataFrame({"step": [1, 2], "note": ["a", "b"], "loss": [1.0, 2.0]}))
        assert {str(key) for key in run.series} == {"loss"}


class TestLongTables:
    def test_metrics_and_labels_are_series(self) -> None:
        frame = pd.DataFrame(
            {
                "step": [1, 1, 2, 2, 1],
                "metric": ["step_time", "step_time", "step_time", "step_time", "loss"],
                "value": [1.0, 2.0, 3.0, 4.0, 5.0],
                "rank": [0, 1, 0, 1, None],
            }
        )
        run = columns_of(frame)
        assert {str(key) for key in run.series} == {"step_time{rank=0}", "step_time{rank=1}", "loss"}
        assert values(run, "step_time", rank="1").value.tolist() == [2.0, 4.0]

    def test_steps_that_go_backwards_within_a_series_begin_an_attempt(self) -> None:
        frame = pd.DataFrame({"step": [1, 2, 3, 2, 3], "metric": "loss", "value": [5.0, 4.0, 3.0, 4.0, 3.0]})
        assert values(columns_of(frame), "loss").attempt.tolist() == [0, 0, 0, 1, 1]

    def test_values_that_are_texts_are_refused(self) -> None:
        with pytest.raises(ValueError, match="value: numbers expected"):
            holter.analyze({"step": [1], "metric": ["loss"], "value": ["high"]})


class Cells(HTMLParser):
    """The cells of a table."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)


class TestShowing:
    def test_no_findings_are_stated(self) -> None:
        found = holter.analyze([1, 2, 3], [1.0, 1.0, 1.0])
        assert repr(found) == "No findings in 3 points."
        assert found._repr_html_() == "<p>No findings in 3 points.</p>"

    def test_each_finding_has_its_position_its_curve_and_its_summary(self) -> None:
        lines = repr(holter.analyze(spiky())).splitlines()
        assert lines[0] == "1 finding in 3,000 points:"
        assert lines[1].startswith("○ fast loss spike, steps 1,500 to 1,530, loss  ▁")
        assert "█" in lines[1]
        assert lines[2].startswith("  Loss rose from")

    def test_a_notebook_sees_a_row_and_a_picture_for_each(self) -> None:
        found = holter.analyze(spiky())
        cells = Cells()
        cells.feed(found._repr_html_())
        assert (cells.tags.count("tr"), cells.tags.count("svg"), cells.tags.count("polyline")) == (1, 1, 1)

    def test_of_very_many_the_first_fifty_are_shown(self) -> None:
        found = holter.analyze(spiky())
        many = Findings(list(found) * 60, found.run)
        assert repr(many).splitlines()[-1] == "... and 10 more"
        assert many._repr_html_().count("<tr>") == 50

    def test_names_from_a_log_are_escaped(self) -> None:
        frame = spiky().rename(columns={"loss": "<b>/loss"})
        assert "<b>/loss" not in holter.analyze(frame)._repr_html_()

    def test_a_slice_has_the_same_run(self) -> None:
        found = holter.analyze(spiky())
        assert "1 finding in 3,000" in repr(found[:1])
        assert found[0].kind == "spike_fast"


class TestBackIntoAFrame:
    def test_a_row_each_with_evidence_in_columns(self) -> None:
        frame = holter.findings_frame(holter.analyze(spiky()))
        assert frame.loc[0, "kind"] == "spike_fast"
        assert frame.loc[0, "end_step"] == 1530
        assert frame.loc[0, "evidence.baseline"] == pytest.approx(2.46, abs=0.1)

    def test_no_findings_are_an_empty_frame_with_its_columns(self) -> None:
        frame = holter.findings_frame([])
        assert len(frame) == 0
        assert "start_step" in frame.columns


def test_nothing_needs_pandas_but_the_frame() -> None:
    code = (
        "import sys; sys.modules['pandas'] = None\n"
        "import holter\n"
        "found = holter.analyze([1, 2, 3], [1.0, 1.0, 1.0])\n"
        "try:\n    holter.findings_frame(found)\nexcept ImportError:\n    print('asked for')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout == "asked for\n", done.stderr


def test_the_given_settings_are_checked() -> None:
    speed = {"step": np.arange(200), "tflops": np.full(200, 1800.0)}
    found = holter.analyze(speed, config={"gpu": {"name": "NVIDIA H100 80GB HBM3"}})
    assert [remark.code for remark in found.remarks] == ["tflops-impossible"]
    assert found[:1].remarks == found.remarks
    assert found.remarks[0].summary in repr(found)
    assert found.remarks[0].summary in found._repr_html_()
    assert holter.analyze(speed).remarks == []
