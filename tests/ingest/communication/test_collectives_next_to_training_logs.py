"""Logs of collectives in a run's folder: they have steps of their own, and cause no restart."""

from __future__ import annotations

import io
import json
import threading
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import pytest

from holter.attempts import Attempts
from holter.detectors import find
from holter.detectors.detector import DetectorContext
from holter.detectors.ranks.comm_slowdown import CommSlowdownDetector
from holter.detectors.ranks.desync import DesyncDetector
from holter.detectors.ranks.straggler import StragglerDetector
from holter.ingest.discovery.run_layout import assign_tree
from holter.ingest.offline.read_run import read_run
from holter.ingest.tailing.follower import Follower
from holter.types import Kind, SeriesKey

DATA = Path(__file__).parents[2] / "data"
RANKS = 8
BEGIN = 1_748_030_377.0


def megatron(first: int, last: int) -> str:
    """The lines that Megatron prints, two seconds a step."""
    lines = []
    chance = np.random.default_rng(first)
    for step in range(first, last + 1):
        loss = 2 + 3 / step + 0.01 * chance.normal()
        lines.append(
            f" iteration {step:8d}/  100000 | consumed samples: {step * 512:12d} | "
            f"elapsed time per iteration (ms): {2000 + chance.normal():.1f} | learning rate: 1.500E-04 | "
            f"global batch size:   512 | lm loss: {loss:.6E} | loss scale: 1.0 | "
            "grad norm: 0.512 | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
        )
    return "".join(lines)


def csv(first: int, last: int, *, begin: float = BEGIN) -> str:
    """A table with a clock, two seconds a step."""
    chance = np.random.default_rng(first)
    rows = [
        f"{step},{begin + 2 * step},{2 + 3 / step + 0.01 * chance.normal()}\n"
        for step in range(first, last + 1)
    ]
    return "step,wall_time,loss\n" + "".join(rows)


def inspector(
    folder: Path, *, rows: int = 400, first: int = 5000, own: Any = None, all_ranks: Any = None
) -> None:
    """Profiles of eight ranks: an all-reduce of a few sizes over all of them, an all-gather over four.

    `own` adds to the arrival time by row and rank, `all_ranks` scales the duration of all ranks by row. The
    last rank to arrive does not wait.
    """
    folder.mkdir(parents=True, exist_ok=True)
    chance = np.random.default_rng(7)
    late = chance.lognormal(4.0, 0.5, size=(rows, RANKS))
    if own is not None:
        late += own
    wait = late.max(axis=1, keepdims=True) - late
    fabric = 1000.0 * (np.ones(rows) if all_ranks is None else all_ranks)[:, None]
    sizes = np.array([2**24, 2**26, 2**24 + 4096])[np.arange(rows) % 3][:, None]
    time = wait + fabric * (sizes / 2**24) * chance.lognormal(0, 0.01, size=(rows, RANKS))
    for rank in range(RANKS):
        lines = []
        for row in range(rows):
            if chance.random() < 0.05:  # the profiler's ring buffer was full
                continue
            for comm, n_ranks, coll in (("0xaa", RANKS, "AllReduce"), (f"0xb{rank // 4}", 4, "AllGather")):
                comm_rank = rank if n_ranks == RANKS else rank % 4
                duration = time[row, rank] * (1 if coll == "AllReduce" else 0.1)
                lines.append(
                    json.dumps(
                        {
                            "header": {"id": comm, "rank": comm_rank, "n_ranks": n_ranks, "nnodes": 1},
                            "metadata": {
                                "inspector_output_format_version": "v4.0",
                                "dump_timestamp_us": int((BEGIN + 500 * (row // 100 + 1)) * 1e6),
                                "hostname": f"node{rank // 4}",
                                "pid": 1000 + rank,
                            },
                            "coll_perf": {
                                "coll": coll,
                                "coll_sn": first + row,
                                "coll_msg_size_bytes": int(sizes[row, 0]),
                                "coll_exec_time_us": int(duration),
                                "coll_timing_source": "kernel_gpu",
                                "coll_algobw_gbs": float(sizes[row, 0] / duration / 1e3),
                                "coll_busbw_gbs": float(1.75 * sizes[row, 0] / duration / 1e3),
                            },
                        }
                    )
                )
        (folder / f"node{rank // 4}-pid{1000 + rank}.log").write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("profile", ["a-profile", "nccl-inspector-4711", "z"])
@pytest.mark.parametrize(("name", "text"), [("slurm-4711.out", megatron(1, 900)), ("log.csv", csv(1, 900))])
def test_profile_next_to_a_log_is_one_attempt_without_findings(
    name: str, text: str, profile: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    inspector(tmp_path / profile)
    run = read_run(tmp_path)
    assert len(run.files) == 1 + RANKS
    assert run.attempts == 1
    assert run.unreadable == []
    assert any(key.metric == "collective_time (us)" for key in run.data.series)
    assert find(run.data) == []


def test_restart_is_detected_with_profiles_of_both_launches(tmp_path: Path) -> None:
    (tmp_path / "slurm-1.out").write_text(megatron(1, 900))
    (tmp_path / "slurm-2.out").write_text(megatron(801, 1200))
    inspector(tmp_path / "nccl-inspector-1")
    inspector(tmp_path / "nccl-inspector-2", first=1)
    run = read_run(tmp_path)
    loss = run.data.series[SeriesKey("lm loss")]
    assert run.attempts == 2
    assert loss.step[loss.attempt == 1].tolist() == list(range(801, 1201))
    assert {finding.kind for finding in find(run.data)} <= {Kind.RESUME_ARTIFACT}


def test_nccl_lines_among_training_lines_are_read(tmp_path: Path) -> None:
    nccl_lines = (DATA / "collectives" / "nccl-debug.log").read_text() * 40
    end = (DATA / "collectives" / "watchdog.out").read_text()
    (tmp_path / "slurm-1.out").write_text(nccl_lines + megatron(1, 300) + end)
    (tmp_path / "slurm-2.out").write_text(nccl_lines + megatron(201, 500))
    run = read_run(tmp_path)
    loss = run.data.series[SeriesKey("lm loss")]
    assert run.attempts == 2
    assert loss.step[loss.attempt == 0].tolist() == list(range(1, 301))
    assert loss.step[loss.attempt == 1].tolist() == list(range(201, 501))
    behind = {"process_group": "0(default_pg)", "rank": "2", "steps": "sequence number"}
    key = SeriesKey("last_enqueued_collective", tuple(sorted(behind.items())))
    assert run.data.series[key].value.tolist() == [811.0]
    assert any(key.metric == "nccl_op_count" for key in run.data.series)


def test_training_lines_that_follow_nccl_lines_later_are_read(memory: Any, tmp_path: Path) -> None:
    nccl_lines = (DATA / "collectives" / "nccl-debug.log").read_text()
    log = tmp_path / "run" / "slurm-1.out"
    log.parent.mkdir()
    log.write_text(nccl_lines)
    follower = Follower([tmp_path], memory, stop=threading.Event())
    follower.catch_up()
    with log.open("a") as file:
        file.write(megatron(1, 30))
    follower.catch_up()
    with log.open("a") as file:
        file.write(nccl_lines + megatron(31, 40))
    follower.catch_up()
    result = memory.collect("run")
    assert [step for step, _ in result.values("lm loss")] == list(range(1, 41))
    warned = result.values("nccl_warnings", rank="3", host="n2", steps="warnings")
    assert warned == [(1, 1.0), (2, 2.0)]


def test_nccl_log_next_to_an_exact_log_is_read_without_its_training_lines(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(csv(1, 100))
    (tmp_path / "nccl.log").write_text(
        (DATA / "collectives" / "nccl-debug.log").read_text() + megatron(1, 100)
    )
    run = read_run(tmp_path)
    assert run.attempts == 1
    assert SeriesKey("lm loss") not in run.data.series
    assert any(key.metric == "nccl_op_count" for key in run.data.series)


def test_log_that_appears_later_replaces_console_lines_but_not_time_outs(memory: Any, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "slurm-1.out").write_text(megatron(1, 20))
    follower = Follower([tmp_path], memory, stop=threading.Event())
    follower.catch_up()
    (run / "log.csv").write_text(csv(1, 30))
    with (run / "slurm-1.out").open("a") as file:
        file.write(megatron(21, 30) + (DATA / "collectives" / "watchdog.out").read_text())
    follower.catch_up()
    result = memory.collect("run")
    assert [step for step, _ in result.values("lm loss")] == list(range(1, 21))
    assert result.values("nccl_timeouts", rank="0", collective="ALLREDUCE", steps="sequence number")


def test_folder_of_a_profile_belongs_to_the_run_above_it(tmp_path: Path) -> None:
    log, profile = tmp_path / "exp" / "log.csv", tmp_path / "exp" / "nccl-inspector-7" / "n-pid1.log"
    for root in (tmp_path, tmp_path / "exp"):
        assignments = assign_tree(root, [log, profile])
        assert assignments[log].run == assignments[profile].run == "exp"
        assert assignments[profile].labels == ()
        assert assignments[log].writer != assignments[profile].writer


def test_late_rank_is_reported(tmp_path: Path) -> None:
    own = np.zeros((400, RANKS))
    own[150:, 5] += 3000.0
    inspector(tmp_path, own=own)
    findings = [
        finding
        for finding in StragglerDetector().detect(read_run(tmp_path).data, DetectorContext())
        if "AllReduce" in str(finding.labels)
    ]
    assert findings
    assert {dict(finding.labels)["rank"] for finding in findings} == {"5"}
    assert all(abs(finding.start_step - 5150) < 30 for finding in findings)
    assert "since sequence number" in findings[0].summary


def test_slow_network_is_reported_for_each_collective(tmp_path: Path) -> None:
    slow = np.ones(400)
    slow[200:] = 2.0
    inspector(tmp_path, all_ranks=slow)
    findings = list(CommSlowdownDetector().detect(read_run(tmp_path).data, DetectorContext()))
    assert findings
    assert all(abs(finding.start_step - 5200) < 30 for finding in findings)
    assert len({finding.labels for finding in findings}) == len(findings)


def test_files_that_end_at_different_calls_are_no_desync(tmp_path: Path) -> None:
    lines = (DATA / "collectives" / "nccl-debug.log").read_text().splitlines(keepends=True)
    for rank in range(4):
        own = [line for line in lines if line.startswith(f"n{1 + rank // 2}:10{rank + 1}:")]
        own = [line for line in own if "Broadcast" not in line]
        (tmp_path / f"nccl.n.{rank}.log").write_text("".join(own[: len(own) - rank % 2]))
    run = read_run(tmp_path)
    assert sum(key.metric == "nccl_op_count" for key in run.data.series) == 4
    assert list(DesyncDetector().detect(run.data, DetectorContext())) == []


def test_nccl_rows_do_not_decide_the_attempt_of_a_new_writer(reading: Any) -> None:
    content = ((DATA / "collectives" / "nccl-debug.log").read_text() * 40 + megatron(1, 50)).encode()
    attempts = Attempts()
    for writer in ("slurm-1.out", "slurm-2.out"):
        for number, batch in batches(attempts, writer, content, reading):
            steps = [column for column in batch.columns if column.key == SeriesKey("lm loss")]
            assert not steps or number == (0 if writer == "slurm-1.out" else 1)


def batches(attempts: Attempts, writer: str, content: bytes, reading: Any) -> list[tuple[int, Any]]:
    reader = reading.format_of(writer, content).reader(PurePath(writer), {})
    return [piece for batch in reader.read(io.BytesIO(content)) for piece in attempts.split(writer, batch)]
