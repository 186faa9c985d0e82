"""Device faults by wall time: at the run's steps, one event a device, each with advice; throttling."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from holter.detectors import IncrementalState, find, fingerprint
from holter.detectors.detector import DetectorContext
from holter.detectors.health.gpu_fault import GpuFaultDetector
from holter.detectors.health.xid import CATALOGUE
from holter.detectors.launch_checks import run_launch_checks
from holter.detectors.launch_checks.throttling import ThrottlingCheck
from holter.ingest.offline.read_run import read_run
from holter.types import CLOCK_STEPS, ConfigKey, Finding, Kind, RunData, Series, SeriesKey, labels_of
from tests.support.curves import run, series

BEGIN = 1_700_000_000.0
N = 1000


def training(n: int = N, *, seconds: float = 2.0, begin: float = BEGIN, first: int = 0) -> Series:
    rng = np.random.default_rng(1)
    step = np.arange(first, first + n)
    return series("loss", 2.0 + rng.normal(0, 0.01, n), step=step, time=begin + seconds * np.arange(n))


def clocked(metric: str, points: list[tuple[float, float]], **labels: object) -> Series:
    time = np.array([at for at, _ in points], dtype=np.float64)
    return Series(
        key=SeriesKey(metric, labels_of({**labels, "steps": CLOCK_STEPS})),
        attempt=np.zeros(len(points), dtype=np.int64),
        step=np.round(time * 1000).astype(np.int64),
        time=time,
        value=np.array([value for _, value in points], dtype=np.float64),
    )


def faults(*all_series: Series, config: dict[ConfigKey, str] | None = None) -> list[Finding]:
    data = run(*all_series)
    stated = {key: {0: value} for key, value in (config or {}).items()}
    return list(GpuFaultDetector().detect(RunData(series=data.series, config=stated), DetectorContext()))


class TestPlaces:
    def test_a_fault_is_at_the_step_that_the_run_had_reached(self) -> None:
        (finding,) = faults(
            training(), clocked("xid_errors", [(BEGIN + 201, 1)], pci="0000:9b:00", xid=79, host="n17")
        )
        assert (finding.attempt, finding.start_step, finding.end_step) == (0, 100, None)
        assert (finding.severity, finding.evidence["wall_time"]) == ("critical", BEGIN + 201)
        assert finding.labels == (("host", "n17"), ("pci", "0000:9b:00"))
        assert "at step 100 (2023-11-14 22:16:41 UTC): it has fallen off the bus" in finding.summary
        assert finding.advice.startswith("GPU 0000:9b:00 of host n17: Drain the node, power-cycle")

    def test_a_log_that_arrives_late_changes_the_step_but_not_the_event(self) -> None:
        xid = clocked("xid_errors", [(BEGIN + 201, 1)], pci="0000:9b:00", xid=79)
        (early,), (late,) = faults(training(80), xid), faults(training(), xid)
        assert (early.start_step, late.start_step) == (79, 100)
        assert fingerprint(early) == fingerprint(late)

    def test_faults_long_before_or_after_the_run_are_left_out(self) -> None:
        far = [(BEGIN - 90_000, 1.0), (BEGIN + 90_000, 2.0)]
        assert faults(training(), clocked("xid_errors", far, pci="0000:9b:00", xid=79)) == []

    def test_each_launch_has_its_own_finding(self) -> None:
        second = training(begin=BEGIN + 3000, first=500)
        both = Series(
            key=second.key,
            attempt=np.repeat([0, 1], N),
            step=np.concatenate((np.arange(N), second.step)),
            time=np.concatenate((training().time, second.time)),
            value=np.concatenate((training().value, second.value)),
        )
        events = [(BEGIN + 100, 1.0), (BEGIN + 3100, 2.0)]
        first, other = faults(both, clocked("xid_errors", events, pci="0000:9b:00", xid=79))
        assert (first.attempt, first.start_step, first.end_step) == (0, 50, N - 1)
        assert (other.attempt, other.start_step, other.end_step) == (1, 550, None)

    def test_without_a_clock_a_fault_is_at_its_own_step(self) -> None:
        (finding,) = faults(
            series("loss", np.ones(10), time=np.full(10, np.nan)), clocked("xid_errors", [(BEGIN, 1)], xid=79)
        )
        assert finding.start_step == BEGIN * 1000


class TestEvents:
    def test_faults_of_one_device_at_one_time_are_one_event_named_by_the_most_severe(self) -> None:
        (finding,) = faults(
            training(),
            clocked("xid_errors", [(BEGIN + 200, 1)], pci="0000:9b:00", xid=45),
            clocked("xid_errors", [(BEGIN + 201, 1), (BEGIN + 205, 2)], pci="0000:9b:00", xid=119),
            clocked("xid_errors", [(BEGIN + 206, 1)], pci="0000:9b:00", xid=154),
        )
        assert finding.evidence["faults"] == {"XID 45": 1, "XID 119": 2, "XID 154": 1}
        assert finding.summary.startswith("XID 119 on GPU 0000:9b:00 at step 100")
        assert "2 times. Also: XID 45 (1), XID 154 (1)." in finding.summary

    def test_the_last_xid_of_an_exporter_is_a_fault_only_when_it_changes(self) -> None:
        sticky = [(BEGIN + 10 * i, 79.0) for i in range(100)]
        assert faults(training(), clocked("gpu_last_xid", sticky, gpu=3)) == []
        changes = [(BEGIN + 10 * i, 0.0 if i < 50 else 31.0) for i in range(100)]
        (finding,) = faults(training(), clocked("gpu_last_xid", changes, gpu=3))
        assert (finding.start_step, finding.severity) == (250, "warning")
        assert "Check the program first" in finding.advice

    def test_a_rise_of_a_counter_is_the_number_of_faults(self) -> None:
        count = [(BEGIN + 10 * i, 4.0 + 2 * (i >= 30) + (i >= 31)) for i in range(100)]
        (finding,) = faults(training(), clocked("ecc_errors_uncorrected", count, gpu=3, host="n17"))
        assert finding.evidence["faults"] == {"ecc_errors_uncorrected": 3}
        assert finding.summary.startswith("GPU 3 of host n17 at step 150")

    @pytest.mark.parametrize(
        ("metric", "severity"),
        [
            ("row_remap_failure", "critical"),
            ("row_remap_pending", "warning"),
            ("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", "warning"),
            ("DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", "critical"),
            ("gpu_requires_reset", "critical"),
            ("ras_uncorrectable_errors", "critical"),
        ],
    )
    def test_every_sort_of_fault_has_a_severity(self, metric: str, severity: str) -> None:
        (finding,) = faults(training(), clocked(metric, [(BEGIN + 100, 0), (BEGIN + 110, 1)], gpu=0))
        assert finding.severity == severity

    def test_number_and_rank_are_known_by_the_bus_address(self) -> None:
        (finding,) = faults(
            training(),
            clocked("xid_errors", [(BEGIN + 201, 1)], pci="0000:9b:00", xid=79, host="n17"),
            clocked("ecc_errors_uncorrected", [(BEGIN, 0), (BEGIN + 210, 1)], gpu=4, host="n17"),
            config={
                ConfigKey("gpu.pci_bus_id", labels_of({"gpu": 4, "host": "n17"})): "0000:9b:00",
                ConfigKey("gpu.pci_bus_id", labels_of({"rank": 12, "host": "n17"})): "0000:9b:00",
                ConfigKey("gpu.pci_bus_id", labels_of({"gpu": 4, "host": "n18"})): "0000:9b:00",
            },
        )
        assert "GPU 4 (0000:9b:00, rank 12) of host n17" in finding.summary
        assert finding.evidence["faults"] == {"XID 79": 1, "ecc_errors_uncorrected": 1}

    def test_invalid_values_are_no_fault(self) -> None:
        values = [(BEGIN + i, value) for i, value in enumerate((np.nan, np.inf, -np.inf, 0.0, np.nan))]
        assert (
            faults(training(), clocked("gpu_last_xid", values, gpu=0), clocked("xid_errors", [], gpu=0)) == []
        )


def test_the_catalogue_separates_hardware_errors_from_errors_of_programs() -> None:
    assert all(CATALOGUE[code].severity == "critical" for code in (48, 63, 64, 74, 79, 94, 95, 119, 120, 154))
    assert all(CATALOGUE[code].severity == "warning" for code in (13, 31, 43, 45))


class TestSilence:
    def looked(self, *watching: Series, now: float) -> list[Finding]:
        data = run(training(), *watching)
        return find(RunData(series=data.series, now=BEGIN + 2 * N + now))

    def watched(self, metric: str, before: float, within: float, **labels: object) -> Series:
        end = BEGIN + 2 * N
        points = [(at, before if at < end else within) for at in np.arange(BEGIN, end + 3000, 15.0).tolist()]
        return clocked(metric, points, **labels)

    def test_telemetry_is_no_sign_of_progress(self) -> None:
        (finding,) = self.looked(self.watched("gpu_temperature (C)", 60, 60, gpu=0), now=3000)
        assert (finding.kind, finding.severity) == (Kind.STALL, "critical")

    def test_busy_gpus_with_little_power_wait_for_each_other(self) -> None:
        (finding,) = self.looked(
            self.watched("gpu_util (%)", 98, 100, gpu=0),
            self.watched("gpu_power (W)", 600, 180, gpu=0),
            self.watched("gpu_tensor_active", 0.6, 0.0, gpu=0),
            now=3000,
        )
        assert "busy (100 %) and draw 30% of their usual power: they wait for each other" in finding.summary
        assert finding.evidence["power_share"] == 0.3

    def test_working_gpus_mean_that_only_the_log_is_silent_and_idle_gpus_are_reported(self) -> None:
        (at_work,) = self.looked(
            self.watched("gpu_util (%)", 98, 97, gpu=0),
            self.watched("gpu_power (W)", 600, 590, gpu=0),
            now=3000,
        )
        assert "possibly only the log" in at_work.summary
        (idle,) = self.looked(self.watched("gpu_util (%)", 98, 0, gpu=0), now=3000)
        assert "The GPUs are idle (0 %)" in idle.summary

    def test_a_stall_references_the_fault_at_its_start(self) -> None:
        xid = clocked("xid_errors", [(BEGIN + 2 * N - 1, 1)], pci="0000:9b:00", xid=79)
        found = {one.kind: one for one in self.looked(xid, now=3000)}
        assert set(found) == {Kind.GPU_FAULT, Kind.STALL}
        assert found[Kind.STALL].summary.startswith("XID 79 on GPU 0000:9b:00")
        assert found[Kind.STALL].evidence["because_of"]["kind"] == "gpu_fault"


def test_a_kernel_log_in_a_runs_folder_is_one_attempt_and_one_finding(tmp_path: Path) -> None:
    begin = 1_740_327_000.0  # half an hour around the real log's 16:24:18 UTC
    rows = [f"{step},{begin + 2 * step},{2 + 0.01 * (step % 7)}\n" for step in range(900)]
    (tmp_path / "z-train.csv").write_text("step,wall_time,loss\n" + "".join(rows))
    data = Path(__file__).parents[1] / "data" / "telemetry" / "dmesg-with-xid-119.log"
    text = data.read_text().replace("[Sun Feb 23 16:", "2025-02-23T16:").replace(" 2025]", "Z")
    (tmp_path / "dmesg.log").write_text(text)
    gathered = read_run(tmp_path)
    assert (gathered.attempts, gathered.unreadable) == (1, [])
    assert gathered.files == {"dmesg.log": "kernel", "z-train.csv": "csv"}
    (finding,) = find(gathered.data)
    assert (finding.kind, finding.start_step) == (Kind.GPU_FAULT, 429)
    assert finding.evidence["faults"] == {"XID 119": 5}
    assert finding.peak_step is not None
    until = read_run(tmp_path, until_step=300)
    assert find(until.data) == []


def test_incremental_passes_give_the_findings_of_a_full_pass() -> None:
    rng = np.random.default_rng(3)
    gauge = [(BEGIN + 10 * i, float(rng.choice([0, 0, 0, 31, 79]))) for i in range(200)]
    count = [(BEGIN + 10 * i, float(value)) for i, value in enumerate(np.cumsum(rng.random(200) < 0.02))]
    memory = IncrementalState()
    for upto in (1, 50, 51, 130, 200):
        watching = [
            clocked("gpu_last_xid", gauge[:upto], gpu=0, host="n1"),
            clocked("ecc_errors_uncorrected", count[:upto], gpu=0, host="n1"),
            clocked("xid_errors", [(BEGIN + 5, 1.0)], pci="0000:9b:00", xid=13),
        ]
        data = run(training(5 * upto), *watching)
        assert list(GpuFaultDetector().detect(data, DetectorContext(state=memory))) == list(
            GpuFaultDetector().detect(data, DetectorContext())
        )


def test_arbitrary_numbers_raise_nothing() -> None:
    wild = [1e308, -1e308, np.nan, np.inf, -np.inf, 0.0, 5e-324, 79.0, 1e18]
    metrics = "gpu_last_xid", "xid_errors", "ecc_errors_uncorrected", "row_remap_failure", "gpu_util (%)"
    for metric in metrics:
        time = np.array(wild)
        one = Series(
            key=SeriesKey(metric, labels_of({"steps": CLOCK_STEPS})),
            attempt=np.zeros(9, dtype=np.int64),
            step=np.arange(9),
            time=time,
            value=time[::-1].copy(),
        )
        both = {**run(training()).series, one.key: one}
        for series_of_run in (both, {one.key: one}):
            data = RunData(series=series_of_run, now=BEGIN + 1e5)
            assert isinstance(find(data), list)
            with np.errstate(all="ignore"):
                assert isinstance(run_launch_checks(data), list)


def test_thermal_throttling_is_reported_and_the_power_cap_is_not() -> None:
    hot = [(BEGIN + 10 * i, float(i % 4 == 0)) for i in range(100)]
    series = [
        clocked("gpu_throttle/hw_thermal_slowdown", hot, gpu=3, host="n17"),
        clocked("gpu_throttle/sw_power_cap", hot, gpu=3, host="n17"),
        clocked("gpu_throttle/hw_slowdown", [(BEGIN, 1.0)], gpu=3, host="n17"),
    ]
    (diagnostic,) = ThrottlingCheck().check(run(training(), *series), DetectorContext())
    assert diagnostic.summary == "GPU 3 of host n17 was slowed down for 25% of the time: it is too hot."
    assert (diagnostic.code, diagnostic.attempt, diagnostic.evidence["samples"]) == ("gpu-throttled", 0, 100)
