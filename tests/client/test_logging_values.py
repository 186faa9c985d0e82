"""What `log` takes, what it makes of it, and that nothing a training loop gives it can hurt the loop."""

from __future__ import annotations

import logging
import math
import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import msgpack

import holter
from holter.client import Run
from holter.client.spool import frame, read_body_at
from holter.server.ingest_http.json_body import LayoutCache
from holter.server.ingest_http.validate import delivery_from_msgpack

NOWHERE = "http://127.0.0.1:9"  # nobody listens on the discard port


class Spooled:
    """A run whose server is away, and what it has written to disk."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.run: Run = holter.init("tests", "values", server=NOWHERE, spool=root)

    def bodies(self) -> list[dict[str, Any]]:
        self.run.close(10)
        found = []
        for path in sorted(self.root.glob("*/0*.spool")):
            with path.open("rb") as file:
                offset = 0
                while (body := read_body_at(file.fileno(), offset)) is not None:
                    found.append(msgpack.decode(body))
                    offset += len(frame(body))
        return found

    def points(self) -> list[tuple[int, str, Any]]:
        """(step, name, value) of everything written, as the server understands it."""
        shapes, found = LayoutCache(), []
        for body in self.bodies():
            batch = delivery_from_msgpack(msgpack.encode(body), shapes).batch
            for column in batch.columns:
                steps = batch.steps if column.rows is None else batch.steps[column.rows]
                pairs = zip(steps.tolist(), column.values.tolist(), strict=True)
                found += [(step, column.key.metric, value) for step, value in pairs]
        return sorted(found, key=lambda point: point[:2])


@pytest.fixture
def spooled(tmp_path: Path) -> Iterator[Spooled]:
    spooled = Spooled(tmp_path)
    yield spooled
    spooled.run.close(10)


class Hostile:
    """A value whose every use fails."""

    def __float__(self) -> float:
        raise RuntimeError("no")

    def __repr__(self) -> str:
        raise RuntimeError("no")


class Tensor:
    """What matters of a torch scalar: it converts with __float__."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __float__(self) -> float:
        return self.value


def test_numbers_of_every_kind_arrive_as_they_are(spooled: Spooled) -> None:
    values = {
        "int": 3,
        "float": 0.1,
        "bool": True,
        "f32": np.float32(0.5),
        "i64": np.int64(7),
        "zero-d": np.array(2.5),
    }
    spooled.run.log({**values, "tensor": Tensor(1.5), "fraction": Fraction(1, 4)}, step=12)
    assert {(name, value) for _, name, value in spooled.points()} == {
        ("int", 3.0), ("float", 0.1), ("bool", 1.0), ("f32", 0.5), ("i64", 7.0), ("zero-d", 2.5),
        ("tensor", 1.5), ("fraction", 0.25),
    }  # fmt: skip


def test_nan_and_infinities_are_data(spooled: Spooled) -> None:
    for step, value in enumerate((1.0, math.nan, math.inf, -math.inf)):
        spooled.run.log({"loss": value}, step=step)
    values = [value for _, _, value in spooled.points()]
    assert values[0] == 1.0
    assert math.isnan(values[1])
    assert values[2:] == [math.inf, -math.inf]


def test_nested_mappings_are_joined_by_a_slash(spooled: Spooled) -> None:
    spooled.run.log({"train": {"loss": 2.0, "by": {"wiki": 1.0}}, "lr": 0.1}, step=0)
    assert [(name, value) for _, name, value in spooled.points()] == [
        ("lr", 0.1),
        ("train/by/wiki", 1.0),
        ("train/loss", 2.0),
    ]


def test_steps_are_counted_where_none_is_given(spooled: Spooled) -> None:
    spooled.run.log({"a": 1})
    spooled.run.log({"a": 2})
    spooled.run.log({"a": 3}, step=10)
    spooled.run.log({"a": 4})
    assert [step for step, _, _ in spooled.points()] == [0, 1, 10, 11]


def test_what_is_no_number_is_ignored_with_one_warning(
    spooled: Spooled, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="holter"):
        for _ in range(5):
            spooled.run.log({"note": "3.5", "nothing": None, "many": [1, 2], "loss": 1.0})
        assert {name for _, name, _ in spooled.points()} == {"loss"}
    assert sum("is not a number" in record.message for record in caplog.records) == 1


def test_metrics_called_step_and_time_are_metrics(spooled: Spooled) -> None:
    spooled.run.log({"step": 5, "time": 0.25}, step=1)
    assert spooled.points() == [(1, "step", 5.0), (1, "time", 0.25)]


def test_metrics_logged_one_by_one_make_no_empty_columns(spooled: Spooled) -> None:
    for number in range(50):
        spooled.run.log({f"metric-{number}": number}, step=3)
    assert len(spooled.points()) == 50
    assert all(len(column["values"]) == 8 for body in spooled.bodies() for column in body["columns"])


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.builds(Hostile)
    | st.builds(object) | st.complex_numbers() | st.floats(width=32).map(np.float32)
    | st.lists(st.floats(), max_size=3).map(np.array),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.integers(), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@pytest.mark.slow
@given(calls=st.lists(st.tuples(anything | st.dictionaries(st.text(), anything), anything), max_size=20))
@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@pytest.mark.filterwarnings("ignore:Conversion of an array:DeprecationWarning")
def test_log_never_raises_and_what_it_writes_is_understood(
    tmp_path_factory: pytest.TempPathFactory, calls: list[tuple[Any, Any]]
) -> None:
    spooled = Spooled(tmp_path_factory.mktemp("spool"))
    for metrics, step in calls:
        spooled.run.log(metrics, step)
    assert all(0 <= step <= 2**53 for step, _, _ in spooled.points())


def test_a_mapping_that_contains_itself_is_refused_quietly(spooled: Spooled) -> None:
    endless: dict[str, Any] = {"loss": 1.0}
    endless["self"] = endless
    spooled.run.log(endless)
    assert spooled.points() == []


def test_several_threads_may_log_at_once(spooled: Spooled) -> None:
    def train(name: str) -> None:
        for step in range(2_000):
            spooled.run.log({f"{name}/a": step, f"{name}/b": -step}, step=step)

    threads = [threading.Thread(target=train, args=(f"thread-{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    points = spooled.points()
    assert len(points) == 4 * 2_000 * 2
    assert all(value == (step if name.endswith("a") else -step) for step, name, value in points)


def test_a_signal_handler_may_log_in_the_middle_of_a_call(spooled: Spooled) -> None:
    calls = 0

    def log_again(*_: object) -> None:
        nonlocal calls
        calls += 1
        spooled.run.log({"signal": 1.0}, step=calls)

    previous = signal.signal(signal.SIGALRM, log_again)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    try:
        deadline = time.monotonic() + 0.5
        logged = 0
        while time.monotonic() < deadline or calls <= 10:
            spooled.run.log({"loss": 1.0}, step=logged)
            logged += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    names = [name for _, name, _ in spooled.points()]
    assert calls > 10
    assert (names.count("loss"), names.count("signal")) == (logged, calls)


def test_a_loop_of_a_thousand_steps_is_written_whole(spooled: Spooled) -> None:
    for step in range(1_000):
        spooled.run.log({f"metric-{number}": step + number / 10 for number in range(10)}, step=step)
    points = spooled.points()
    assert len(points) == 10_000
    assert points[-1] == (999, "metric-9", 999.9)


def test_a_forked_child_neither_logs_nor_holds_the_spool(spooled: Spooled) -> None:
    spooled.run.log({"loss": 1.0}, step=0)
    child = os.fork()
    if child == 0:
        spooled.run.log({"loss": 9.0}, step=1)
        spooled.run.finish()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    spooled.run.log({"loss": 2.0}, step=2)
    assert spooled.points() == [(0, "loss", 1.0), (2, "loss", 2.0)]


def test_a_configuration_of_any_objects_becomes_json(tmp_path: Path) -> None:
    config: Mapping[str, Any] = {
        "lr": 1e-3,
        "path": Path("/data"),
        3: {"deep": (1, None)},
        "nan": math.nan,
        "big": 2**90,
    }
    with holter.init("tests", "config", config, server=NOWHERE, spool=tmp_path) as run:
        run.log({"loss": 1.0})
        run.close(10)
    [segment] = tmp_path.glob("*/0*.spool")
    with segment.open("rb") as file:
        first = msgpack.decode(read_body_at(file.fileno(), 0) or b"")
    assert first["config"] == {
        "lr": 1e-3, "path": "/data", "3": {"deep": [1, None]}, "nan": "nan", "big": str(2**90),
    }  # fmt: skip


@pytest.mark.parametrize("server", ["nonsense", "http://", "ftp://x", "http://127.0.0.1:9/\n"])
def test_an_address_that_is_none_keeps_everything_on_disk(tmp_path: Path, server: str) -> None:
    run = holter.init("tests", "address", server=server, spool=tmp_path, environ={})
    run.log({"loss": 1.0})
    run.finish(timeout=10)
    assert list(tmp_path.glob("*/0*.spool"))


def test_a_spool_that_cannot_be_written_moves_elsewhere(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "other"))
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    with caplog.at_level(logging.WARNING, logger="holter"):
        run = holter.init("tests", "elsewhere", server=NOWHERE, spool=blocked)
        run.log({"loss": 1.0})
        run.close(10)
    assert any("trying another folder" in record.message for record in caplog.records)
    assert list((tmp_path / "other").rglob("0*.spool"))
