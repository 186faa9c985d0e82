"""Logs of collectives in the folder of a run: their steps are not those of training and restart nothing."""

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

DATA = Path(__file__).parents[1] / "data"
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
    """What eight ranks' profilers dump: an all-reduce of a few sizes over all of them, a gather over four.

    `own` and `all_ranks` scale the time of a rank, and that of every rank, by rank and row. The last to
    arrive waits for nobody.
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
            if chance.random() < 0.05:  # the profiler's ring had no room
                continue
            for comm, n_ranks, coll in (("0xaa", RANKS, "AllReduce"), (f"0xb{rank // 4}", 4, "AllGather")):
                of_comm = rank if n_ranks == RANKS else rank % 4
                took = time[row, rank] * (1 if coll == "AllReduce" else 0.1)
                lines.append(
                    json.dumps(
                        {
                            "header": {"id": comm, "rank": of_comm, "n_ranks": n_ranks, "nnodes": 1},
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
                                "coll_exec_time_us": int(took),
                                "coll_timing_source": "kernel_gpu",
                                "coll_algobw_gbs": float(sizes[row, 0] / took / 1e3),
                                "coll_busbw_gbs": float(1.75 * sizes[row, 0] / took / 1e3),
                            },
                        }
                    )
                )
        (folder / f"node{rank // 4}-pid{1000 + rank}.log").write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("profile", ["a-profile", "nccl-inspector-4711", "z"])
@pytest.mark.parametrize(("name", "text"), [("slurm-4711.out", megatron(1, 900)), ("log.csv", csv(1, 900))])
def test_a_profile_of_eight_ranks_next_to_a_log_is_one_attempt_and_no_finding(
    name: str, text: str, profile: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    inspector(tmp_path / profile)
    gathered = read_run(tmp_path)
    assert len(gathered.files) == 1 + RANKS
    assert gathered.attempts == 1
    assert gathered.unreadable == []
    assert any(key.metric == "collective_time (us)" for key in gathered.data.series)
    assert find(gathered.data) == []


def test_a_restart_is_seen_though_a_profile_lies_next_to_both_launches(tmp_path: Path) -> None:
    (tmp_path / "slurm-1.out").write_text(megatron(1, 900))
    (tmp_path / "slurm-2.out").write_text(megatron(801, 1200))
    inspector(tmp_path / "nccl-inspector-1")
    inspector(tmp_path / "nccl-inspector-2", first=1)
    gathered = read_run(tmp_path)
    loss = gathered.data.series[SeriesKey("lm loss")]
    assert gathered.attempts == 2
    assert loss.step[loss.attempt == 1].tolist() == list(range(801, 1201))
    assert {finding.kind for finding in find(gathered.data)} <= {Kind.RESUME_ARTIFACT}


def test_lines_of_nccl_among_those_of_training_are_read_from_the_same_text(tmp_path: Path) -> None:
    talk = (DATA / "collectives" / "nccl-debug.log").read_text() * 40
    end = (DATA / "collectives" / "watchdog.out").read_text()
    (tmp_path / "slurm-1.out").write_text(talk + megatron(1, 300) + end)
    (tmp_path / "slurm-2.out").write_text(talk + megatron(201, 500))
    gathered = read_run(tmp_path)
    loss = gathered.data.series[SeriesKey("lm loss")]
    assert gathered.attempts == 2
    assert loss.step[loss.attempt == 0].tolist() == list(range(1, 301))
    assert loss.step[loss.attempt == 1].tolist() == list(range(201, 501))
    behind = {"process_group": "0(default_pg)", "rank": "2", "steps": "sequence number"}
    key = SeriesKey("last_enqueued_collective", tuple(sorted(behind.items())))
    assert gathered.data.series[key].value.tolist() == [811.0]
    assert any(key.metric == "nccl_op_count" for key in gathered.data.series)


def test_a_text_of_nccl_alone_in_which_training_prints_later_is_read_on(memory: Any, tmp_path: Path) -> None:
    talk = (DATA / "collectives" / "nccl-debug.log").read_text()
    log = tmp_path / "run" / "slurm-1.out"
    log.parent.mkdir()
    log.write_text(talk)
    follower = Follower([tmp_path], memory, stop=threading.Event())
    follower.catch_up()
    with log.open("a") as file:
        file.write(megatron(1, 30))
    follower.catch_up()
    with log.open("a") as file:
        file.write(talk + megatron(31, 40))
    follower.catch_up()
    result = memory.collect("run")
    assert [step for step, _ in result.values("lm loss")] == list(range(1, 41))
    warned = result.values("nccl_warnings", rank="3", host="n2", steps="warnings")
    assert warned == [(1, 1.0), (2, 2.0)]


def test_texts_of_nccl_next_to_an_exact_log_are_read_for_what_nccl_states_alone(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(csv(1, 100))
    (tmp_path / "nccl.log").write_text(
        (DATA / "collectives" / "nccl-debug.log").read_text() + megatron(1, 100)
    )
    gathered = read_run(tmp_path)
    assert gathered.attempts == 1
    assert SeriesKey("lm loss") not in gathered.data.series
    assert any(key.metric == "nccl_op_count" for key in gathered.data.series)


def test_a_text_gives_way_to_a_log_that_appears_later_and_its_time_outs_are_reported_yet(
    memory: Any, tmp_path: Path
) -> None:
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


def test_the_folder_of_a_profile_belongs_to_the_run_above_it(tmp_path: Path) -> None:
    log, profile = tmp_path / "exp" / "log.csv", tmp_path / "exp" / "nccl-inspector-7" / "n-pid1.log"
    for root in (tmp_path, tmp_path / "exp"):
        places = assign_tree(root, [log, profile])
        assert places[log].run == places[profile].run == "exp"
        assert places[profile].labels == ()
        assert places[log].writer != places[profile].writer


def test_a_rank_that_arrives_late_waits_least_and_is_named(tmp_path: Path) -> None:
    own = np.zeros((400, RANKS))
    own[150:, 5] += 3000.0
    inspector(tmp_path, own=own)
    found = [
        finding
        for finding in StragglerDetector().detect(read_run(tmp_path).data, DetectorContext())
        if "AllReduce" in str(finding.labels)
    ]
    assert found
    assert {dict(finding.labels)["rank"] for finding in found} == {"5"}
    assert all(abs(finding.start_step - 5150) < 30 for finding in found)
    assert "since sequence number" in found[0].summary


def test_a_slow_fabric_is_reported_for_each_kind_of_collective(tmp_path: Path) -> None:
    slow = np.ones(400)
    slow[200:] = 2.0
    inspector(tmp_path, all_ranks=slow)
    found = list(CommSlowdownDetector().detect(read_run(tmp_path).data, DetectorContext()))
    assert found
    assert all(abs(finding.start_step - 5200) < 30 for finding in found)
    assert len({finding.labels for finding in found}) == len(found)


def test_ends_of_files_that_are_not_at_the_same_call_are_no_desync(tmp_path: Path) -> None:
    lines = (DATA / "collectives" / "nccl-debug.log").read_text().splitlines(keepends=True)
    for rank in range(4):
        own = [line for line in lines if line.startswith(f"n{1 + rank // 2}:10{rank + 1}:")]
        own = [line for line in own if "Broadcast" not in line]
        (tmp_path / f"nccl.n.{rank}.log").write_text("".join(own[: len(own) - rank % 2]))
    gathered = read_run(tmp_path)
    assert sum(key.metric == "nccl_op_count" for key in gathered.data.series) == 4
    assert list(DesyncDetector().detect(gathered.data, DetectorContext())) == []


def test_rows_next_to_training_do_not_use_up_the_time_in_which_a_new_writer_is_settled(reading: Any) -> None:
    content = ((DATA / "collectives" / "nccl-debug.log").read_text() * 40 + megatron(1, 50)).encode()
    attempts = Attempts()
    for writer in ("slurm-1.out", "slurm-2.out"):
        for number, batch in batches(attempts, writer, content, reading):
            steps = [column for column in batch.columns if column.key == SeriesKey("lm loss")]
            assert not steps or number == (0 if writer == "slurm-1.out" else 1)


def batches(attempts: Attempts, writer: str, content: bytes, reading: Any) -> list[tuple[int, Any]]:
    reader = reading.format_of(writer, content).reader(PurePath(writer), {})
    return [piece for batch in reader.read(io.BytesIO(content)) for piece in attempts.split(writer, batch)]
