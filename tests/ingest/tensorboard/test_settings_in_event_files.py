"""Settings of launches in event files: hparams and texts of real writers."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.hparams.summary_v2 import hparams_pb
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboardX import SummaryWriter

from holter.ingest.offline.read_run import read_run
from holter.ingest.tensorboard.event_file import EventFile
from holter.ingest.tensorboard.hparams import settings_in
from holter.types import Batch

TRAINER = {"learning_rate": 3e-4, "per_device_train_batch_size": 8, "bf16": True}
MODEL = {"hidden_size": 768, "num_hidden_layers": 12}
MEGATRON = {"data_path": "['/pile']", "num_layers": 24, "hidden_size": 1024, "lr": 0.00015, "fp16": True}
TABLE = {"learning_rate": 0.001, "seed": 1, "cuda": True}
HPARAMS = {"lr": 0.1, "bsize": 32, "bf16": True, "model": "gpt"}
Write = Callable[[SummaryWriter], None]


def points(writer: SummaryWriter) -> None:
    for step in range(20):
        writer.add_scalar("loss", 1 / (step + 1), step)


def of_trainer(writer: SummaryWriter) -> None:
    """As TensorBoardCallback.on_train_begin of Hugging Face's Trainer."""
    writer.add_text("args", json.dumps(TRAINER | {"hub_token": "hf_abcdefghijkl", "none": None}, indent=2))
    model = MODEL | {"architectures": ["GPT2"], "rope": {"theta": 1e4}}
    writer.add_text("model_config", json.dumps(model, indent=2))
    points(writer)


def of_megatron(writer: SummaryWriter) -> None:
    """As write_args_to_tensorboard of Megatron-LM: each argument by itself."""
    for name, value in (MEGATRON | {"load": None, "api_key": "secret"}).items():
        writer.add_text(name, str(value), global_step=0)
    points(writer)


def of_a_table(writer: SummaryWriter) -> None:
    """As CleanRL and those that copied it."""
    rows = "".join(f"|{name}|{value}|\n" for name, value in TABLE.items())
    writer.add_text("hyperparameters", f"|param|value|\n|-|-|\n{rows}")
    points(writer)


def of_a_fence(writer: SummaryWriter) -> None:
    writer.add_text("config", "```yaml\noptimizer:\n  lr: 1e-4\nbatch_size: 32\n```")
    points(writer)


def of_hparams(writer: SummaryWriter) -> None:
    writer.add_hparams(HPARAMS, {"hparam/loss": 0.5}, name="session")


CASES: list[tuple[Write, dict[str, Any]]] = [
    (of_trainer, TRAINER | MODEL | {"architectures": '["GPT2"]', "rope.theta": 1e4}),
    (of_megatron, MEGATRON),
    (of_a_table, TABLE),
    (of_a_fence, {"optimizer.lr": 1e-4, "batch_size": 32}),
    (of_hparams, HPARAMS),
]
EVERY = pytest.mark.parametrize(
    ("write", "config"), CASES, ids=lambda parameter: getattr(parameter, "__name__", "")
)


def written(folder: Path, write: Write) -> bytes:
    """The file that tensorboardX (torch's writer, without torch) writes."""
    writer = SummaryWriter(str(folder))
    write(writer)
    writer.close()
    paths = sorted(folder.rglob("events*"), key=lambda path: path.stat().st_size)
    return paths[-1].read_bytes()


def stated(data: bytes, *, sizes: list[int] | None = None) -> dict[str, Any]:
    """The content of a file that grows in pieces, each read by a new reader."""
    state: Any = {}
    at, rows, result = 0, 0, dict[str, Any]()
    for size in [*(sizes or []), len(data)]:
        stream = io.BytesIO(data[:size])
        stream.seek(at)
        reader = EventFile(kernels=lambda _: None).reader(Path("events.out.tfevents.1"), state)
        for record in reader.read(stream):
            assert isinstance(record, Batch)
            assert not record.config or not rows, "settings come before the first row"
            result |= {key.name: value for key, value in record.config.items()}
            rows += len(record.steps)
        at, state = stream.tell(), json.loads(json.dumps(reader.state()))
    return result


@EVERY
def test_what_writers_state_is_the_config(write: Write, config: dict[str, Any], tmp_path: Path) -> None:
    assert stated(written(tmp_path, write)) == config


@EVERY
def test_it_does_not_depend_on_where_a_reader_stops(
    write: Write, config: dict[str, Any], tmp_path: Path
) -> None:
    data = written(tmp_path, write)
    assert stated(data, sizes=list(range(0, len(data), 37))) == config


def test_a_run_has_it_by_its_launch_and_no_points_of_it(tmp_path: Path) -> None:
    written(tmp_path, of_trainer)
    run = read_run(tmp_path)
    found = {key.name: by_attempt for key, by_attempt in run.data.config.items()}
    assert found["hidden_size"] == {0: 768}
    assert [str(key) for key in run.data.series] == ["loss"]


def test_keras_and_the_writer_of_tensorboard_itself(tmp_path: Path) -> None:
    writer = EventFileWriter(str(tmp_path))
    start = hparams_pb({"lr": 0.001, "epochs": 3, "name": "a"})
    writer.add_event(Event(wall_time=time.time(), summary=start))
    loss = Summary(value=[Summary.Value(tag="loss", simple_value=1)])
    writer.add_event(Event(wall_time=2.0, step=1, summary=loss))
    writer.close()
    (path,) = tmp_path.iterdir()
    assert stated(path.read_bytes()) == {"lr": 0.001, "epochs": 3, "name": "a"}


def test_other_texts_and_what_comes_after_the_first_point_state_nothing(tmp_path: Path) -> None:
    def write(writer: SummaryWriter) -> None:
        writer.add_text("sample", "Once upon a time")
        writer.add_text("generated", "name: Bob\nage: 3")
        writer.add_text("note", json.dumps({"a": 1, "b": 2}))
        points(writer)
        of_trainer(writer)

    assert stated(written(tmp_path, write)) == {}


def test_what_is_too_large_is_left_out(tmp_path: Path) -> None:
    def write(writer: SummaryWriter) -> None:
        many = {f"name_{n}": n for n in range(5000)}
        writer.add_text("args", json.dumps({"learning_rate": 1, "seed": 2, "long": "x" * 9000} | many))
        writer.add_text("model_config", json.dumps({"hidden_size": 1, "num_layers": 2, "x": "y" * 2**21}))
        points(writer)

    result = stated(written(tmp_path, write))
    assert (len(result), len(result["long"])) == (2000, 2000)
    assert "hidden_size" not in result


def test_texts_of_one_line_that_wait_are_few(tmp_path: Path) -> None:
    def write(writer: SummaryWriter) -> None:
        for number in range(1000):
            writer.add_text(f"sample_{number}", "x" * 100)

    data = written(tmp_path, write)
    reader = EventFile(kernels=lambda _: None).reader(Path("events.out.tfevents.1"), {})
    assert list(reader.read(io.BytesIO(data))) == []
    assert len(json.dumps(reader.state())) < 20_000


ODD = [
    "",
    "{",
    "``````",
    "```\n```",
    "|a|b|\n|-|-|",
    "- a\n- b",
    "{" * 100_000,
    "&a [*a]\nx: 1",
    "`" * 200_000,
]
ODD += ["|-|" * 50_000 + "\n" + "|-" * 90_000, "learning_rate: !!python/object/apply:os.system [ls]\n"]


@pytest.mark.parametrize("text", ODD, ids=lambda text: text[:10])
def test_odd_texts_are_no_settings(text: str) -> None:
    assert settings_in(text) is None
