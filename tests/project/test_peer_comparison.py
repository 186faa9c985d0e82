"""The comparison with other trackers: its simulated data, and the tables that it makes of measurements."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module", autouse=True)
def _peers_on_the_path() -> Iterator[None]:
    sys.path.insert(0, str(BENCHMARKS))
    yield
    sys.path.remove(str(BENCHMARKS))


def module(name: str) -> ModuleType:
    return importlib.import_module(f"peers.{name}")


@pytest.mark.parametrize("name", ["W1", "W2", "W3", "W4", "L1M", "R20"])
def test_steps_are_a_second_apart_with_a_jitter_of_5_percent_in_every_workload(name: str) -> None:
    workloads = module("workloads")
    workload = workloads.WORKLOADS[name]
    small = replace(workload, metrics=1, steps=min(5000, workload.steps))
    intervals = np.diff(small.logged_run(0).times)
    assert np.isclose(intervals.mean(), 1.0, atol=0.02)
    assert np.isclose(intervals.std(), 0.05, atol=0.015)


def test_rows_and_columns_of_a_run_are_the_same_points() -> None:
    workload = module("workloads").Workload("small", "", 2, 12, 30)
    run = workload.logged_run(1)
    assert len(run.rows) == len(run.times) == 30
    assert list(run.columns) == workload.names
    assert {name: [row[name] for row in run.rows] for name in workload.names} == run.columns


def test_every_question_is_asked_about_a_workload_and_has_a_column() -> None:
    workloads, report = module("workloads"), module("report")
    questions = [query for queries in workloads.QUERIES.values() for query in queries]
    assert set(workloads.QUERIES) <= set(workloads.WORKLOADS)
    assert sorted(questions) == sorted(report._QUERIES)


def test_the_simulated_clock_shows_the_time_of_the_step_in_both_forms() -> None:
    clock = module("clock").SimulatedClock()
    clock.seconds = 1.7e9
    assert clock.time() == clock.now("any zone").timestamp() == 1.7e9
    assert module("clock").iso_times([1.7e9]) == ["2023-11-14T22:13:20+00:00"]


def test_the_tables_print_both_answers_versions_and_sizes_of_everybody_alike() -> None:
    results = module("results").PeerResults(rounds=2)
    roster, environments = module("roster").ROSTER, module("environments")
    for name, cold, warm in (("Holter", 10.0, 2.0), ("trackio", 30.0, 20.0)):
        results.environments[name] = environments.PeerEnvironment(
            python=Path("python"), version="1.2", remark="1.3 is newer: because"
        )
        write = {
            "points": 1000,
            "seconds": cold / 1e4,
            "cpu_written": cold / 1e4,
            "cpu": cold / 5e3,
            "bytes_before": 4000,
            "bytes": 3000,
        }
        results.add(name, "W1", write)
        for factor in (1.0, 5.0, 1.0):  # the median is not moved by one slow process
            answers = {"points": 1000, "opened": 100.0, "milliseconds": [cold * factor, warm * factor]}
            results.add(name, "one series", answers)
    results.add_failure("trackio", "W2", "took longer than 400 s")
    text = module("report").report(results, roster, "A machine.", scale=1.0)
    assert "| trackio | 1.2 | 1.3 is newer: because |" in text
    assert "| Holter | 1.00 M/s |" in text
    assert "| trackio | 333.3 k/s (3.0x) |" in text
    assert "| Holter | 1.0 / 2.0 |" in text
    assert "| Holter | 4.00 / 3.00 |" in text
    assert "| Holter | 100 | 10 / 2.0 |" in text
    assert "| trackio | 100 | 30 / 20 (3.0x / 10x) |" in text
    assert "- trackio, W2: took longer than 400 s" in text


def test_reads_are_divided_over_the_rounds_of_a_peer() -> None:
    main = module("__main__")
    roster = {peer.name: peer for peer in module("roster").ROSTER}
    assert [main._reads(roster["Holter"], number, 3) for number in range(3)] == [1, 1, 1]
    assert [main._reads(roster["Holter"], number, 2) for number in range(2)] == [2, 1]
    assert main._reads(roster["aim"], 0, 3) == 3
