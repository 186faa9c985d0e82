"""JSON logs of trainers: every record of real files, rewritten files, checkpoints with the same log."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path, PurePath
from typing import Any

import pytest

from holter.ingest import formats
from holter.ingest.offline.explain import explain_files
from holter.ingest.offline.read_run import read_run
from holter.ingest.tailing.follower import Follower
from holter.ingest.trainers.trainer_state import TrainerState
from holter.types import ConfigKey, SeriesKey

DATA = Path(__file__).parents[2] / "data" / "structured"
REAL_STATE = DATA / "checkpoint-500" / "trainer_state.json"
LOSS = SeriesKey("train/loss")


def state(*losses: float, every: int = 10) -> str:
    """A state that has logged these losses."""
    logged = [{"epoch": 0.5, "loss": loss, "step": every * at} for at, loss in enumerate(losses, start=1)]
    return json.dumps(
        {"global_step": every * len(losses), "log_history": logged, "logging_steps": every}, indent=2
    )


def write(folder: Path, text: str, *, at: int) -> Path:
    """Write a state as of some second."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "trainer_state.json"
    file.write_text(text)
    os.utime(file, (at, at))
    return file


def test_every_record_of_a_real_state_is_read(reading: Any) -> None:
    logged = json.loads(REAL_STATE.read_bytes())["log_history"]
    found = reading.read_complete("trainer_state.json", REAL_STATE.read_bytes())
    assert len(logged) == 50
    assert found.values("train/loss") == [(row["step"], row["loss"]) for row in logged]
    assert found.count == sum(len(row) - 1 for row in logged)
    assert found.unreadable == []


def test_every_record_of_a_real_llama_factory_log_is_read(reading: Any) -> None:
    content = (DATA / "trainer_log.jsonl").read_bytes()
    logged = [json.loads(line) for line in content.splitlines()]
    found = reading.read_complete("trainer_log.jsonl", content)
    assert len(logged) == 202
    assert found.values("loss") == [(row["current_steps"], row["loss"]) for row in logged]
    assert found.values("elapsed_time (s)")[-1] == (202, 2 * 3600 + 30 * 60 + 48)
    assert found.values("remaining_time (s)")[0] == (1, 3 * 86_400 + 17 * 3600 + 51 * 60 + 32)
    assert (found.count, found.unreadable) == (7 * 202, [])


def test_every_span_and_number_of_a_real_torchtitan_file_is_read(reading: Any) -> None:
    file = next(DATA.glob("training.global_rank_0.*"))
    events = [json.loads(line) for line in file.read_bytes().splitlines()]
    numbers = [event for event in events if "value" in event and "step" in event]
    found = reading.read_complete(file.name, file.read_bytes())
    assert (len(events), len(numbers), found.count) == (63, 36, 36)
    assert found.unreadable == []
    spans = [
        event["value"] for event in numbers if event["log_type_name"] == "fwd_bwd_end" and event["step"] == 3
    ]
    assert found.values("fwd_bwd_time (ms)", rank="0")[4:6] == [(3, spans[0]), (3, spans[0] + spans[1])]
    assert [step for step, _ in found.values("step_time (ms)", rank="0")] == [1, 2, 3, 4, 5, 6]
    assert found.values("loss", rank="0") == [(step, 3.0 / step) for step in range(1, 7)]


def test_names_hosts_and_locations_in_torchtitans_events_are_not_taken(reading: Any) -> None:
    file = next(DATA.glob("training.global_rank_0.*"))
    assert b"node0" in file.read_bytes()
    assert all(
        dict(key.labels) == {"rank": "0"}
        for key in reading.read_complete(file.name, file.read_bytes()).points
    )


def test_what_a_state_holds_is_named_as_in_tensorboard_and_nan_is_data(reading: Any) -> None:
    found = reading.read_complete("trainer_state.json", (DATA / "trainer_state.json").read_bytes())
    assert found.values("eval/loss") == [(20, 2.125)]
    assert [(step, repr(value)) for step, value in found.values("train/grad_norm")] == [
        (10, "1.25"),
        (20, "nan"),
        (30, "inf"),
    ]
    assert found.unreadable == [("log_history 3", "expected an object with a step")]
    assert found.config[ConfigKey("max_steps"), 0] == 60


def test_checkpoints_of_a_run_are_read_once(tmp_path: Path) -> None:
    losses = [3.0, 2.5, 2.0, 1.75]
    for count in (1, 2, 3, 4):
        write(tmp_path / f"checkpoint-{10 * count}", state(*losses[:count]), at=count)
    write(tmp_path, state(*losses), at=5)
    found = read_run(tmp_path)
    assert (found.attempts, found.points) == (1, 8)
    assert found.files == {"trainer_state.json": "trainer-state"}
    assert found.data.series[LOSS].value.tolist() == losses


def test_branches_that_contradict_one_another_are_launches(tmp_path: Path) -> None:
    write(tmp_path / "checkpoint-40", state(3.0, 2.5, 2.0, 9.0), at=1)
    write(tmp_path / "checkpoint-30", state(3.0, 2.5, 1.5), at=2)  # gone back to step 20 since
    found = read_run(tmp_path).data.series[LOSS]
    assert found.attempt.tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert found.value.tolist() == [3.0, 2.5, 2.0, 9.0, 3.0, 2.5, 1.5]


def test_a_state_next_to_logs_of_the_same_run_is_left_to_them(tmp_path: Path) -> None:
    write(tmp_path / "out" / "checkpoint-20", state(3.0, 2.5), at=1)
    (tmp_path / "out" / "trainer_log.jsonl").write_bytes((DATA / "trainer_log.jsonl").read_bytes())
    assert set(read_run(tmp_path).files.values()) == {"llama-factory"}
    result = {report.path.name: report for report in explain_files(tmp_path)}
    assert result["trainer_state.json"].why_not.startswith("not needed")


def test_states_of_several_runs_are_several_runs(tmp_path: Path) -> None:
    for run in ("a", "b"):
        write(tmp_path / run / "checkpoint-20", state(3.0, 2.5), at=1)
    assert {report.run for report in explain_files(tmp_path)} == {"a", "b"}


def test_checkpoints_that_follow_one_another_are_followed_as_one_log(tmp_path: Path, memory: Any) -> None:
    losses = [3.0, 2.5, 2.0, 1.75, 1.5]
    for count in (2, 3, 5):
        write(tmp_path / "job" / f"checkpoint-{10 * count}", state(*losses[:count]), at=count)
        Follower([tmp_path], memory).catch_up()
    assert memory.collect("job").values("train/loss") == [
        (10 * at, loss) for at, loss in enumerate(losses, 1)
    ]
    assert memory.collect("job").restarts == []
    assert memory.runs == {"job"}


def test_a_training_that_went_back_continues_as_a_launch_from_there(tmp_path: Path, memory: Any) -> None:
    file = write(tmp_path / "job", state(3.0, 2.5, 9.0), at=1)
    Follower([tmp_path], memory).catch_up()
    file.write_text(state(3.0, 2.5, 2.0, 1.75))
    Follower([tmp_path], memory).catch_up()
    result = memory.collect("job")
    assert result.values("train/loss") == [(10, 3.0), (20, 2.5), (30, 9.0), (30, 2.0), (40, 1.75)]
    assert result.restarts == [30]


def test_a_state_that_is_half_written_is_waited_for(tmp_path: Path, memory: Any) -> None:
    text = state(3.0, 2.5)
    file = write(tmp_path, text[: len(text) // 2], at=1)
    Follower([tmp_path], memory).catch_up()
    assert memory.deliveries == []
    file.write_text(text)
    Follower([tmp_path], memory).catch_up()
    assert memory.collect(tmp_path.name).values("train/loss") == [(10, 3.0), (20, 2.5)]


def test_a_long_history_comes_in_bounded_batches_and_can_be_stopped_between(reading: Any) -> None:
    content = state(*(3.0 + at / 7 for at in range(9000))).encode()
    assert reading.read_restarted("trainer_state.json", content, every=1) == reading.read_complete(
        "trainer_state.json", content
    )
    sizes = [
        batch.points
        for batch in TrainerState().reader(PurePath("trainer_state.json"), {}).read(io.BytesIO(content))
    ]
    assert (max(sizes), sum(sizes)) == (2 * 4096, 2 * 9000)


def test_summaries_of_wandb_are_no_history() -> None:
    content = b'{"train/loss":0.0193,"_step":76000,"_runtime":28810,"_timestamp":1.777448631057612e+09}\n'
    assert [
        format_.name
        for format_ in formats().values()
        if format_.sniff(PurePath("wandb-summary.json"), content)
    ] == []


@pytest.mark.parametrize("name", ["wandb-history.jsonl", "history.jsonl"])
def test_a_history_of_wandb_is_read_row_by_row(name: str, reading: Any) -> None:
    content = (
        b'{"_step":0,"_runtime":0.5,"_timestamp":1700000000.25,"train/loss":1.5,"nested":{"x":1},"nan":NaN}\n'
        b'{"_step":1,"_runtime":1.5,"_timestamp":1700000001.25,"train/loss":null,"image":{"_type":"image-file"}}\n'
    )
    found = reading.read_complete(name, content)
    assert found.values("train/loss") == [(0, 1.5)]
    assert found.values("nested/x") == [(0, 1.0)]
    assert found.points[SeriesKey("train/loss")][0][2] == "1700000000.25"
    assert found.unreadable == []


def test_torchtitans_spans_are_read_next_to_what_it_prints(tmp_path: Path) -> None:
    (tmp_path / "structured_logs").mkdir()
    file = next(DATA.glob("training.global_rank_0.*"))
    (tmp_path / "structured_logs" / file.name).write_bytes(file.read_bytes())
    line = (
        "[titan] 2026-11-22 00:15:2{0},322 - root - INFO - step:  {0}  loss:  6.5  tps: 5,856  mfu: 34.29%\n"
    )
    (tmp_path / "train.log").write_text("".join(line.format(step) for step in range(1, 7)))
    found = read_run(tmp_path)
    assert set(found.files.values()) == {"torchtitan", "torchtitan-trace"}
    assert found.attempts == 1
    assert len(found.data.series[SeriesKey("loss_metrics/global_avg_loss")]) == 6
    assert len(found.data.series[SeriesKey("step_time (ms)", (("rank", "0"),))]) == 6


def test_megatrons_progress_is_read_next_to_other_logs(tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").write_text(
        "step,loss\n" + "".join(f"{step},2.5\n" for step in range(0, 2000, 100))
    )
    (tmp_path / "progress.txt").write_bytes((DATA.parent / "console" / "progress.txt").read_bytes())
    found = read_run(tmp_path)
    assert set(found.files.values()) == {"csv", "megatron-progress"}
    assert found.data.series[SeriesKey("job throughput (TFLOP/s/GPU)")].step.tolist() == [500, 1000, 1500]
    assert len(found.data.series[SeriesKey("loss")]) == 20
