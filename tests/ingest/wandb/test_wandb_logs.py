"""Logs of the wandb client: complete, while they grow, after a kill, and without private settings."""

from __future__ import annotations

import io
import math
import struct
import zlib
from pathlib import Path, PurePath
from typing import Any

import pytest

from holter.ingest import formats
from holter.ingest.offline.read_run import read_run
from holter.ingest.wandb.leveldb import BLOCK, MAGIC, walk_records
from holter.ingest.wandb.protobuf import Record
from holter.types import Batch, ConfigKey

DATA = Path(__file__).parents[2] / "data" / "wandb"
CLIENTS = ["offline_wandb-0.15.12.wandb", "offline_wandb-0.19.11.wandb"]


def framed(*payloads: bytes) -> bytes:
    """Records framed as the client frames them."""
    out = bytearray(MAGIC)
    for payload in payloads:
        rest, first = payload, True
        while True:
            left = BLOCK - len(out) % BLOCK
            if left < 7:
                out += b"\0" * left
                left = BLOCK
            piece, rest = rest[: left - 7], rest[left - 7 :]
            kind = (1 if first else 4) if not rest else (2 if first else 3)
            out += struct.pack("<IHB", zlib.crc32(bytes([kind]) + piece), len(piece), kind) + piece
            first = False
            if not rest:
                break
    return bytes(out)


def row(step: int, **values: str) -> bytes:
    """A record of one call of `wandb.log`."""
    record = Record()
    for name, text in {"_step": str(step), **values}.items():
        record.history.item.add(nested_key=[name], value_json=text)
    return bytes(record.SerializeToString())


@pytest.mark.parametrize("name", CLIENTS)
def test_every_row_that_a_real_client_wrote_is_read(name: str, reading: Any) -> None:
    found = reading.read_complete(name, (DATA / name).read_bytes())
    assert [step for step, _ in found.values("train/loss")] == [0, 10, 20, 30, 40, 50]
    assert [value for _, value in found.values("train/loss")] == [2 / (1 + at) for at in range(6)]
    assert found.unreadable == []


def definition(name: str, step_metric: str) -> bytes:
    """A record of one call of `define_metric`."""
    record = Record()
    record.metric.glob_name, record.metric.step_metric = name, step_metric
    return bytes(record.SerializeToString())


def test_the_step_is_the_metric_that_is_defined_as_one(reading: Any) -> None:
    rows = [row(at, loss=str(1 / (1 + at)), my_step=str(100 * at)) for at in range(1, 4)]
    found = reading.read_complete("run-a.wandb", framed(definition("*", "my_step"), *rows))
    assert [step for step, _ in found.values("loss")] == [100, 200, 300]
    assert found.values("_step") == [(100, 1.0), (200, 2.0), (300, 3.0)]


def test_the_step_of_a_framework_is_the_step(reading: Any) -> None:
    rows = [row(at, loss="1.0", **{"train/global_step": str(10 * at)}) for at in range(1, 4)]
    found = reading.read_complete("run-a.wandb", framed(*rows))
    assert [step for step, _ in found.values("loss")] == [10, 20, 30]


def test_nested_values_and_the_machine_are_named(reading: Any) -> None:
    found = reading.read_complete(CLIENTS[1], (DATA / CLIENTS[1]).read_bytes())
    assert [step for step, _ in found.values("nested/a")] == [0, 10, 20, 30, 40, 50]
    assert math.isnan(found.values("nested/b")[2][1])
    assert len(found.values("system.proc.memory.rssMB")) == 5


def test_records_over_several_blocks_are_put_together(reading: Any) -> None:
    wide = {f"metric{number}": str(number / 7) for number in range(6000)}
    content = framed(row(1, loss="2.5"), row(2, **wide), row(3, loss="2.25"))
    assert len(content) > 3 * BLOCK
    found = reading.read_complete("run.wandb", content)
    assert found.values("loss") == [(1, 2.5), (3, 2.25)]
    assert found.values("metric5999") == [(2, 5999 / 7)]


def test_text_lists_and_objects_are_no_metrics(reading: Any) -> None:
    content = framed(
        row(1, loss="NaN", note='"1.5"', picture='{"_type":"image-file"}', flag="true", more="[1]")
    )
    found = reading.read_complete("run.wandb", content)
    assert {key.metric for key in found.points} == {"loss"}


def test_a_damaged_block_costs_its_own_records_only(reading: Any) -> None:
    content = bytearray(framed(*(row(step, loss="2.5", pad=f'"{"x" * 900}"') for step in range(200))))
    content[BLOCK + 500] ^= 0xFF
    found = reading.read_complete("run.wandb", bytes(content))
    steps = [step for step, _ in found.values("loss")]
    assert steps[0] == 0
    assert steps[-1] == 199
    assert 160 < len(steps) < 200
    assert [reason for _, reason in found.unreadable] == [
        "expected a record, but its checksum does not match"
    ]


def test_a_killed_writer_leaves_complete_records_and_a_rest_that_is_waited_for(reading: Any) -> None:
    content = framed(row(1, loss="2.5"), row(2, loss="2.25"))
    torn = content[:-5]
    stream = io.BytesIO(torn)
    reader = formats()["wandb"].reader(PurePath("run.wandb"), {})
    found = reading.collect(reader.read(stream))
    assert found.values("loss") == [(1, 2.5)]
    assert found.unreadable == []
    assert stream.tell() == walk_records(torn[7:], 7).stop < len(torn)


def test_e_mail_addresses_and_arguments_are_not_among_what_is_read() -> None:
    names = {field.name for field in Record.DESCRIPTOR.fields}
    assert names == {"history", "config", "stats", "metric", "run"}
    assert [field.name for field in Record.DESCRIPTOR.fields_by_name["run"].message_type.fields] == ["config"]


@pytest.mark.parametrize("name", CLIENTS)
def test_the_settings_of_a_run_are_read_but_for_the_clients_own(name: str) -> None:
    config = read_run(DATA / name).data.config
    assert config == {ConfigKey("lr"): {0: 0.001}, ConfigKey("model.d"): {0: 8}}


def test_settings_that_are_private_are_left_out_and_later_ones_are_of_what_follows() -> None:
    begun, later = Record(), Record()
    for key, text in {
        "layers": "24", "email": '"a@b.org"', "host": '"n1"', "data": '"/home/ana/data"', "save": '"~/c"',
        "argv": '["train.py"]', "remote": '"git@host:x.git"', "api_key": '"123"', "torn": "{",
        "note": '"hf_abcdefghijklmnop"', "optimizer": '"adamw"',
    }.items():  # fmt: skip
        begun.run.config.update.add(key=key, value_json=text)
    later.config.update.add(nested_key=["model", "d"], value_json="8")
    rows = row(2, loss="2.5"), row(1, loss="2")
    content = framed(begun.SerializeToString(), rows[0], later.SerializeToString(), rows[1])
    batches = list(formats()["wandb"].reader(PurePath("run.wandb"), {}).read(io.BytesIO(content)))
    assert [dict(batch.config) for batch in batches if isinstance(batch, Batch)] == [
        {ConfigKey("layers"): 24, ConfigKey("optimizer"): "adamw"}, {ConfigKey("model.d"): 8},
    ]  # fmt: skip
