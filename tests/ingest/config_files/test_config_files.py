"""Config files next to logs: their content, the run and launch they belong to, and unusual files."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path, PurePath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holter.attempts import Attempts
from holter.attempts.config import config_by_attempt
from holter.cli.report.logs import describe_files
from holter.ingest import formats
from holter.ingest.offline.explain import explain_files
from holter.ingest.offline.read_run import read_run
from holter.ingest.tailing.follower import Follower
from holter.types import Batch, ConfigKey, ConfigValue, Unreadable

DATA = Path(__file__).parents[2] / "data" / "settings"
TABLE = "step,loss\n0,3.5\n10,3.25\n"


def read(name: str, content: str | bytes) -> tuple[dict[str, ConfigValue], list[str]]:
    """The settings of a file, and the problems reported for it."""
    data = content.encode() if isinstance(content, str) else content
    reader = formats()["settings"].reader(PurePath(name), {})
    config: dict[str, ConfigValue] = {}
    problems = []
    for record in reader.read(io.BytesIO(data)):
        if isinstance(record, Unreadable):
            problems.append(record.reason)
        else:
            assert not record.points
            config |= {key.name: value for key, value in record.config.items()}
    return config, problems


def claimed(name: str, content: str) -> list[str]:
    return [format_.name for format_ in formats().values() if format_.sniff(PurePath(name), content.encode())]


def stated(path: Path) -> dict[str, dict[int, ConfigValue]]:
    return {key.name: dict(values) for key, values in read_run(path).data.config.items()}


def test_real_files_are_read() -> None:
    nanotron, _ = read("config.yaml", (DATA / "nanotron" / "config.yaml").read_bytes())
    assert nanotron["model.model_config.num_hidden_layers"] == 2
    assert nanotron["optimizer.optimizer_factory.adam_eps"] == 1e-08
    assert "profiler" not in nanotron
    torchtitan, _ = read("train.toml", (DATA / "torchtitan" / "train.toml").read_bytes())
    assert (torchtitan["training.seq_len"], torchtitan["optimizer.lr"]) == (2048, 8e-4)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("hyperparameters.yaml", "train:\n  learning_rate: 4e-4\n  max_steps:\ndevices: auto\n",
         {"train.learning_rate": 4e-4, "devices": "auto"}),
        ("ds_config.json", '{"train_batch_size": "auto", "zero_optimization": {"stage": 2}, "lr": 1}',
         {"zero_optimization.stage": 2, "lr": 1}),
        ("config.yaml", "_wandb:\n  value: {}\nlr:\n  desc: null\n  value: 0.5\nseed:\n  value: 1\n",
         {"lr": 0.5, "seed": 1}),
        ("hparams.yaml", "model: !!python/object:argparse.Namespace\n  lr: 1\nf: !!python/name:os.walk ''\n",
         {"model.lr": 1}),
        ("config.yaml", "base: &base {lr: 1}\nlater:\n  <<: *base\n  seed: 2\n",
         {"base.lr": 1, "later.lr": 1, "later.seed": 2}),
    ],
)  # fmt: skip
def test_each_kind_of_document_is_read(name: str, content: str, expected: dict[str, ConfigValue]) -> None:
    assert claimed(name, content) == ["settings"]
    assert read(name, content) == (expected, [])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("package.json", '{"name": "x", "lr": 1, "seed": 2}'),
        ("config.json", '{"apiVersion": 1, "kind": "x"}'),
        ("tokenizer_config.json", '{"model_type": "llama", "vocab_size": 32000}'),
        ("config.yaml", "services:\n  web:\n    image: nginx\n"),
        ("pyproject.toml", "[tool.x]\nlr = 1\nseed = 2\n"),
        ("config.json", '[{"lr": 1, "seed": 2}]'),
    ],
)
def test_other_files_are_not_config_files(name: str, content: str) -> None:
    assert "settings" not in claimed(name, content)


def test_nothing_of_a_document_is_executed(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    config, _ = read("hparams.yaml", f"lr: 1\nbad: !!python/object/apply:pathlib.Path.touch ['{marker}']\n")
    assert config["lr"] == 1
    assert not marker.exists()


def test_documents_that_expand_beyond_bounds_are_rejected() -> None:
    bomb = "a0: &a0 {x: 1}\n" + "".join(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}\n" for n in range(1, 40))
    assert read("hparams.yaml", bomb) == ({}, [EXPECTED])
    lists = "a0: &a0 [1, 1]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40))
    assert read("hparams.yaml", lists) == ({}, [EXPECTED])
    assert read("hparams.yaml", "a: &a [*a]\n") == ({}, [EXPECTED])
    assert read("hparams.yaml", "a: " + "[" * 500 + "]" * 500 + "\n") == ({}, [EXPECTED])
    assert read("config.json", '{"a":' * 100_000)[0] == {}
    assert read("config.toml", "a = " + "[" * 100_000 + "\n")[0] == {}


EXPECTED = "expected at most 50,000 values, 40 levels deep, aliases written out"


def test_too_large_config_file_is_reported() -> None:
    config, problems = read("config.json", json.dumps({"lr": 1, "text": "x" * 2**20}))
    assert config == {}
    assert problems == ["expected settings of at most 1,048,576 bytes"]
    config, problems = read("config.json", json.dumps({f"n{number}": number for number in range(3000)}))
    assert len(config) == 2000
    assert problems == ["expected at most 2,000 settings, found 3,000"]


def test_private_settings_are_left_out() -> None:
    content = {"lr": 1, "wandb": {"api_key": "k" * 40, "entity": "x"}, "hub_token": "hf_" + "a" * 34}
    content |= {"user": "alice", "mail": "alice@example.org", "hostname": "n7", "data": ["s3://a:b@c/d"]}
    assert read("config.json", json.dumps(content))[0] == {"lr": 1, "wandb.entity": "x"}


@given(st.binary(max_size=300), st.sampled_from(["config.json", "hparams.yaml", "config.toml"]))
def test_any_bytes_are_read_without_raising(content: bytes, name: str) -> None:
    read(name, content + b"\n")


def test_incomplete_file_is_not_read_yet() -> None:
    assert read("config.json", '{"lr": 1, "seed"') == ({}, [])
    assert read("hparams.yaml", "lr: 1\nmodel:\n  d") == ({"lr": 1}, [])


def test_config_file_next_to_logs_belongs_to_their_run(tmp_path: Path) -> None:
    run = tmp_path / "run"
    (run / "logs").mkdir(parents=True)
    (run / "logs" / "metrics.csv").write_text(TABLE)
    (run / "checkpoint-500").mkdir()
    (run / ".hydra").mkdir()
    (run / "base-model").mkdir()
    for folder, lr in (("checkpoint-500", 1), (".hydra", 2), ("base-model", 3)):
        (run / folder / "config.yaml").write_text(f"lr: {lr}\nseed: {lr}\n")
    shutil.copy(DATA / "hf" / "config.json", run / "checkpoint-500")
    offline_run = read_run(run)
    assert offline_run.files == {
        "checkpoint-500/config.yaml": "settings",
        "checkpoint-500/config.json": "settings",
        "logs/metrics.csv": "csv",
    }
    assert stated(run)["num_hidden_layers"] == {0: 22}
    assert offline_run.points == 2
    assert offline_run.attempts == 1


def test_folder_with_only_config_files_is_no_run(tmp_path: Path, memory: Any) -> None:
    (tmp_path / "model").mkdir()
    shutil.copy(DATA / "hf" / "config.json", tmp_path / "model")
    Follower([tmp_path], memory).catch_up()
    assert memory.runs == set()
    assert read_run(tmp_path).files == {}
    assert read_run(tmp_path / "model" / "config.json").files == {}


def test_config_file_above_several_runs_belongs_to_none(tmp_path: Path, memory: Any) -> None:
    (tmp_path / "config.yaml").write_text("lr: 1\nseed: 2\n")
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "metrics.csv").write_text(TABLE)
    Follower([tmp_path], memory).catch_up()
    assert memory.runs == {"a", "b"}
    assert not memory.collect("a").config


def test_each_launch_has_the_settings_of_its_folder(tmp_path: Path) -> None:
    for number in range(3):
        folder = tmp_path / f"version_{number}"
        folder.mkdir()
        (folder / "metrics.csv").write_text(TABLE)
        (folder / "hparams.yaml").write_text(f"lr: {number}\n")
    assert stated(tmp_path) == {"lr": {0: 0, 1: 1, 2: 2}}


def test_doctor_reports_which_config_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "metrics.csv").write_text(TABLE)
    shutil.copy(DATA / "lightning" / "hparams.yaml", tmp_path / "run")
    (tmp_path / "model").mkdir()
    shutil.copy(DATA / "hf" / "config.json", tmp_path / "model")
    result = list(describe_files(explain_files(tmp_path), tmp_path))
    assert "run/hparams.yaml: settings, run run, 8 settings" in result
    assert any("model/config.json (1): settings: read next to the logs of one run" in line for line in result)


def test_rewritten_config_file_belongs_to_the_next_launch(tmp_path: Path, memory: Any) -> None:
    (tmp_path / "run").mkdir()
    table, settings = tmp_path / "run" / "metrics.csv", tmp_path / "run" / "config.yaml"
    attempts = Attempts()
    follower = Follower([tmp_path], memory)

    def config_after_scan() -> dict[ConfigKey, dict[int, ConfigValue]]:
        follower.catch_up()
        for delivery in memory.deliveries:
            attempts.split(delivery.writer, delivery.batch)
        memory.deliveries.clear()
        again = Attempts.from_json(json.loads(json.dumps(attempts.to_json())))
        return by_name(again)

    table.write_text(TABLE)
    settings.write_text("lr: 1\nseed: 7\n")
    assert config_after_scan() == {"lr": {0: 1}, "seed": {0: 7}}
    settings.write_text("lr: 1\nseed: 7\n")
    assert config_after_scan() == {"lr": {0: 1}, "seed": {0: 7}}
    for lr in (2, 3):  # for a launch that has not begun: nothing of it is shown yet
        settings.write_text(f"lr: {lr}\nseed: 7\n")
        assert config_after_scan() == {"lr": {0: 1}, "seed": {0: 7}}
    table.write_text(TABLE + "0,3.5\n10,3.25\n")
    assert config_after_scan() == {"lr": {0: 1, 1: 3}, "seed": {0: 7, 1: 7}}
    table.write_text(TABLE + "0,3.5\n10,3.25\n0,3\n")
    settings.write_text("lr: 4\nseed: 7\n")
    assert config_after_scan()["lr"] == {0: 1, 1: 3, 2: 4}


def by_name(attempts: Attempts) -> Any:
    config = config_by_attempt({}, attempts.pending_config(), attempts.started)
    return {key.name: dict(values) for key, values in config.items()}


def test_settings_without_rows_do_not_start_a_launch() -> None:
    attempts = Attempts()
    batch = Batch(steps=[], times=[], columns=(), restarts=True, config={ConfigKey("lr"): 1})  # type: ignore[arg-type]
    assert attempts.split("config.yaml", batch) == []
    assert attempts.started == {}
    assert by_name(attempts) == {"lr": {0: 1}}
