"""Formats of telemetry: one name for each metric of all tools, wall times, telemetry next to training."""

from __future__ import annotations

import gzip
import io
import os
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Any

import pytest

from holter.ingest.offline.read_run import read_run
from holter.ingest.tailing.follower import Follower
from holter.ingest.telemetry import timestamped
from holter.ingest.telemetry.gpu_metrics import labels_from_path, normalize_bus_id, parse_quantity
from holter.ingest.telemetry.nvidia_smi import NvidiaSmi
from holter.ingest.telemetry.timestamped import TimestampParser
from holter.types import ConfigKey, SeriesKey, labels_of

DATA = Path(__file__).parents[2] / "data" / "telemetry"
CLOCK = {"steps": "milliseconds"}


@pytest.fixture(autouse=True)
def helsinki() -> Iterator[None]:
    before = os.environ.get("TZ")
    os.environ["TZ"] = "Europe/Helsinki"
    time.tzset()
    timestamped._unix_minute.cache_clear()  # a process that reads logs has one zone
    yield
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()
    timestamped._unix_minute.cache_clear()


def read(reading: Any, name: str) -> Any:
    path = DATA / name
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return reading.read_complete(name.removesuffix(".gz"), content)


def stated(result: Any) -> dict[str, Any]:
    return {str(key): value for (key, _), value in result.config.items()}


@pytest.mark.parametrize(
    ("name", "values", "series", "unread"),
    [
        ("nvidia-smi-h200.csv", 156, 78, 0),
        ("nvidia-smi-node3.csv", 52, 25, 1),
        ("gpu_usage_noheader.csv", 20, 10, 1),
        ("dmon-h200.txt", 55, 11, 0),
        ("dmon-with-clock.txt", 46, 23, 0),
        ("dcgm-exporter.prom", 8, 5, 1),
        ("node_exporter-n17.prom.gz", 24, 24, 0),
        ("amd-smi-n4.csv", 40, 22, 0),
        ("rocm-smi.csv", 38, 19, 0),
        ("rocm-smi.json", 12, 8, 0),
        ("amd-smi-metric.json", 10, 10, 0),
        ("rocm-smi-6.txt", 17, 17, 0),
        ("rocm-smi-old.txt", 22, 11, 0),
        ("dmesg-with-xid-119.log", 5, 1, 0),
        ("dmesg-decode-iso.log", 18, 3, 0),
        ("kern.log", 9, 9, 0),
    ],
)
def test_samples_are_read_completely(name: str, values: int, series: int, unread: int, reading: Any) -> None:
    result = read(reading, name)
    assert (result.count, len(result.points), len(result.unreadable)) == (values, series, unread)
    assert all(key.step_unit is not None for key in result.points)


class TestNvidiaSmi:
    def test_rows_have_a_gpu_and_local_time_and_missing_values_are_absent(self, reading: Any) -> None:
        result = read(reading, "nvidia-smi-node3.csv")
        at = 1725789811000  # 13:03:31 in Helsinki
        assert result.values("gpu_power (W)", gpu="0", host="node3", **CLOCK) == [
            (at, 398.12),
            (at + 5000, 399.0),
        ]
        assert result.values("gpu_power (W)", gpu="1", host="node3", **CLOCK) == [
            (at + 4, 401.5),
            (at + 10004, 92.1),
        ]
        ((location, reason),) = result.unreadable
        assert (location, "12 cells" in reason) == ("line 9", True)

    def test_throttle_reasons_have_one_name_as_mask_and_as_columns(self, reading: Any) -> None:
        mask = read(reading, "nvidia-smi-node3.csv")
        named = read(reading, "nvidia-smi-h200.csv")
        metric = "gpu_throttle/sw_thermal_slowdown"
        assert [value for _, value in mask.values(metric, gpu="0", host="node3", **CLOCK)] == [0.0, 1.0]
        assert [value for _, value in named.values(metric, gpu="0", file="h200", **CLOCK)] == [0.0, 0.0]

    def test_gpu_that_requires_a_reset_is_read(self, reading: Any) -> None:
        result = read(reading, "nvidia-smi-node3.csv")
        assert [
            value for _, value in result.values("gpu_requires_reset", gpu="0", host="node3", **CLOCK)
        ] == [1.0]

    def test_device_settings_are_yielded_once(self, reading: Any) -> None:
        settings = stated(read(reading, "nvidia-smi-h200.csv"))
        assert settings == {
            "gpu.name{file=h200,gpu=0}": "NVIDIA H200",
            "gpu.driver{file=h200,gpu=0}": "590.48.01",
            "gpu.pci_bus_id{file=h200,gpu=0}": "0000:83:00",
        }

    def test_columns_without_a_header_are_named_by_position(self, reading: Any) -> None:
        result = read(reading, "gpu_usage_noheader.csv")
        labels = {"gpu": "0000:3b:00", "file": "noheader", **CLOCK}
        assert [value for _, value in result.values("nvidia-smi column 10 [MiB]", **labels)] == [4.0, 38803.0]
        assert result.unreadable[0][0] == "line 1"

    def test_second_column_without_header_and_units_may_be_the_index(self, reading: Any) -> None:
        content = b"2024/06/01 11:27:05.177, 0, 97, 401.5\n2024/06/01 11:27:05.179, 1, 98, 402.5\n"
        result = reading.read_complete("gpu.csv", content)
        assert {dict(key.labels)["gpu"] for key in result.points} == {"0", "1"}


class TestTimes:
    def test_repeated_hour_in_autumn_continues(self) -> None:
        clock = TimestampParser({})
        times = [
            clock.parse(f"2024/10/27 {at}")
            for at in ("03:30:00", "03:59:50", "03:00:00", "03:30:00", "04:00:00")
        ]
        assert [b - a for a, b in pairwise(times)] == [1790, 10, 1800, 1800]

    def test_repeated_hour_continues_after_a_restart(self) -> None:
        before = TimestampParser({})
        first = before.parse("2024/10/27 03:59:50")
        assert TimestampParser(before.state()).parse("2024/10/27 03:00:00") == first + 10

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("2026-07-03 22:11:00+00:00", 1783116660.0),
            ("2026-07-03T22:11:00,250000+0000 n17 kernel:", 1783116660.25),
            ("Fri Jul  3 22:11:00 UTC 2026", 1783116660.0),
            ("[Sat Jul  4 01:11:00 2026] NVRM", 1783116660.0),
        ],
    )
    def test_times_are_parsed(self, text: str, expected: float) -> None:
        assert TimestampParser({}).parse(text) == expected

    def test_time_without_a_year_is_not_in_the_future(self) -> None:
        now = time.time()
        for days in (-300, -1, 0):
            text = time.strftime("%b %d %H:%M:%S", time.localtime(now + days * 86400)) + " n17 kernel:"
            assert abs(TimestampParser({}).parse(text) - now - days * 86400) < 1


class TestPrometheusText:
    def test_scrapes_have_their_own_time_or_that_of_the_line_above(self, reading: Any) -> None:
        result = read(reading, "dcgm-exporter.prom")
        labels = {"gpu": "0", "host": "n17", **CLOCK}
        assert result.values("gpu_last_xid", **labels) == [(1783116660000, 0.0), (1783116675000, 79.0)]
        assert result.values("gpu_util (%)", **labels) == [(1783116675250, 100.0)]

    def test_mig_instances_are_labelled_and_blank_values_left_out(self, reading: Any) -> None:
        result = read(reading, "dcgm-exporter.prom")
        assert result.values("gpu_sm_clock (MHz)", gpu="1", mig="3", host="n17", **CLOCK) != []
        assert not any("VIOLATION" in key.metric for key in result.points)
        assert stated(result)["gpu.pci_bus_id{gpu=0,host=n17}"] == "0000:10:1c"

    def test_scrapes_without_a_time_are_counted(self, reading: Any) -> None:
        content = gzip.decompress((DATA / "node_exporter-n17.prom.gz").read_bytes())
        result = reading.read_complete("node_exporter-n17.prom", 3 * content)
        assert result.values("node_load1", host="n17", steps="samples") == [(0, 0.21), (1, 0.21), (2, 0.21)]


class TestKernelLogs:
    def test_errors_are_counted_by_device_at_the_time_of_the_line(self, reading: Any) -> None:
        result = read(reading, "dmesg-with-xid-119.log")
        (points,) = result.points.values()
        assert [float(value) for _, _, _, value in points] == [1, 2, 3, 4, 5]
        result = read(reading, "kern.log")
        assert [
            v for _, v in result.values("xid_errors", host="n17", pci="0000:10:1c", xid="63", **CLOCK)
        ] == [1.0]
        assert [
            v for _, v in result.values("xid_errors", host="n17", pci="0000:01:00", xid="79", **CLOCK)
        ] == [1.0]

    def test_lines_since_boot_have_no_wall_time(self, reading: Any) -> None:
        result = read(reading, "kern.log")
        values = result.values("xid_errors", pci="0000:9b:00", xid="154", steps="milliseconds since boot")
        assert values == [(123456, 1.0)]

    def test_totals_of_errors_are_not_added_up(self, reading: Any) -> None:
        result = read(reading, "kern.log")
        labels = {"block": "umc", "host": "n18", "pci": "0000:c1:00", **CLOCK}
        assert [value for _, value in result.values("ras_uncorrectable_errors", **labels)] == [2.0]

    def test_kernel_lines_in_the_output_of_a_program_are_read(self, reading: Any) -> None:
        content = (
            b"step:1/3 train_loss:4.5 train_time:193ms\nstep:2/3 train_loss:4.0 train_time:193ms\n"
            + (DATA / "dmesg-with-xid-119.log").read_bytes()
            + b"step:3/3 train_loss:3.5 train_time:193ms\n"
        )
        result = reading.read_complete("train.log", content)
        assert len([key for key in result.points if key.metric == "xid_errors"]) == 1
        assert len([key for key in result.points if key.step_unit is None]) > 0


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("smi-node3.csv", {"host": "node3"}),
        ("nvidia-smi.nid001234.log", {"host": "nid001234"}),
        ("gpu.csv", {}),
        ("metrics-2024-09-08.csv", {}),
        ("dmon-h200.txt", {"file": "dmon-h200"}),
        ("gpu-4711.csv", {"file": "4711"}),
    ],
)
def test_labels_come_from_the_file_name(name: str, labels: dict[str, str]) -> None:
    assert labels_from_path(PurePath(name)) == labels


def test_quantities_are_parsed() -> None:
    assert [
        quantity and quantity.value
        for quantity in map(parse_quantity, ("97 %", "77.71 W", "Not Active", "1e3"))
    ] == [
        97.0,
        77.71,
        0.0,
        1000.0,
    ]
    assert [parse_quantity(cell) for cell in ("[N/A]", "[Unknown Error]", "-", "", "590.48.01", "0x1ff")] == [
        None
    ] * 6
    assert (normalize_bus_id("00000000:9B:00.0"), normalize_bus_id("9b:00"), normalize_bus_id("n17")) == (
        "0000:9b:00",
        "0000:9b:00",
        None,
    )


def test_long_table_is_read_in_bounded_batches() -> None:
    header = b"timestamp, index, utilization.gpu [%], power.draw [W]\n"
    row = b"2024/09/08 13:03:31.000, 0, 100 %, 398.12 W\n"
    reader = NvidiaSmi().reader(PurePath("gpu.csv"), {})
    batches = [
        batch.points for batch in reader.read(io.BytesIO(header + 50_000 * row)) if hasattr(batch, "points")
    ]
    assert (sum(batches), max(batches) <= 65_536) == (100_000, True)
    assert ConfigKey("gpu.name") not in reader.state()


class TestTelemetryNextToTraining:
    """Telemetry in a run's folder belongs to the current launch and starts none, also when tailed."""

    def training(self, first: int, begin: float, count: int = 200) -> str:
        rows = [f"{first + at},{begin + 2 * at},{2.5 - at / 1000}\n" for at in range(count)]
        return "step,wall_time,loss\n" + "".join(rows)

    def gpus(self, begin: float, end: float) -> str:
        rows, at = ["timestamp, index, utilization.gpu [%], power.draw [W]\n"], begin
        while at < end:
            stamp = time.strftime("%Y/%m/%d %H:%M:%S", time.localtime(at))
            rows += [f"{stamp}.{gpu:03d}, {gpu}, 97 %, 401.50 W\n" for gpu in range(2)]
            at += 10
        return "".join(rows)

    @pytest.mark.parametrize("name", ["a-gpu.csv", "z-gpu.csv"])
    def test_two_launches_are_two_attempts_in_any_order_of_files(self, name: str, tmp_path: Path) -> None:
        begin = 1_725_800_000.0
        (tmp_path / "attempt-0.csv").write_text(self.training(0, begin))
        (tmp_path / "attempt-1.csv").write_text(self.training(150, begin + 1000))
        (tmp_path / name).write_text(self.gpus(begin - 600, begin + 2000))
        run = read_run(tmp_path)
        assert (run.attempts, run.unreadable) == (2, [])
        labels = labels_of({"gpu": 1, "file": name[0], **CLOCK})
        series = run.data.series[SeriesKey("gpu_util (%)", labels)]
        assert len(series) == 260
        assert bool((series.attempt == (series.time >= begin + 1000)).all())

    def test_tailing_with_restarts_reads_each_row_once(self, tmp_path: Path, memory: Any) -> None:
        begin = 1_725_800_000.0
        run = tmp_path / "run"
        run.mkdir()
        train, gpus = self.training(0, begin).splitlines(True), self.gpus(begin, begin + 400).splitlines(True)
        for part in range(5):
            (run / "train.csv").write_text("".join(train[: 1 + 40 * (part + 1)]))
            (run / "gpu.csv").write_text("".join(gpus[: 1 + 16 * (part + 1)])[: None if part == 4 else -7])
            Follower([tmp_path], memory).catch_up()  # each time another process
        result = memory.collect("run")
        assert memory.runs == {"run"}
        assert len(result.values("loss")) == 200
        assert len(result.values("gpu_power (W)", gpu="0", **CLOCK)) == 40
        assert len(set(result.values("gpu_power (W)", gpu="1", **CLOCK))) == 40
