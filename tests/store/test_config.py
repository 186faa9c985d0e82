"""What is said of launches besides points is stored with the batch that says it, by attempt, in bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from sqlalchemy import Engine, func, select, update

from holter.attempts.config_values import flatten_settings, to_config_value
from holter.server.database import reading, writing
from holter.server.maintenance.deletion import delete_run, purge
from holter.server.models import ConfigRow, UnreadableRow
from holter.server.store import Store
from holter.server.store import run_config as stored
from holter.types import Batch, Column, ConfigKey, ConfigValue, Delivery, SeriesKey

NET = ConfigKey("nccl.net", (("rank", "3"),))


def delivery(
    batch_id: str,
    steps: Sequence[int] = (),
    config: Mapping[ConfigKey, ConfigValue] | None = None,
    *,
    writer: str = "w",
    attempt: str | None = None,
) -> Delivery:
    batch = Batch(
        steps=np.array(steps, dtype=np.int64),
        times=np.full(len(steps), np.nan),
        columns=(Column(key=SeriesKey("loss"), values=np.ones(len(steps))),) if steps else (),
        attempt=attempt,
        config=dict(config or {}),
    )
    return Delivery(project="p", run="run", writer=writer, batch_id=batch_id, batch=batch)


def test_configuration_belongs_to_the_launch_of_the_following_rows(store: Store) -> None:
    lr = ConfigKey("lr")
    run = store.accept(delivery("0", [1, 2], {lr: 1e-4, NET: "IB"})).run_id
    store.accept(delivery("1", [3, 4]))
    assert store.config(run) == {lr: {0: 1e-4}, NET: {0: "IB"}}
    store.accept(delivery("2", config={lr: 2e-4}))  # the launch that says so has no step yet
    assert store.config(run) == {lr: {0: 1e-4, 1: 2e-4}, NET: {0: "IB"}}
    assert store.accept(delivery("3", [2], {NET: "Socket"})).attempt == 1
    assert store.config(run) == {lr: {0: 1e-4, 1: 2e-4}, NET: {0: "IB", 1: "Socket"}}
    assert store.check() == []


def test_pending_configuration_survives_a_restart(store: Store, engine: Engine) -> None:
    waiting = delivery("0", config={ConfigKey("lr"): 1})
    run = store.accept(waiting).run_id
    store.close()
    again = Store(engine)
    again.start()
    try:
        assert again.accept(waiting).duplicate
        assert again.config(run) == {ConfigKey("lr"): {0: 1}}
        again.accept(delivery("1", [5]))
        assert again.config(run) == {ConfigKey("lr"): {0: 1}}
        assert again.accept(delivery("2", [5], attempt="3", writer="v")).attempt == 3
    finally:
        again.close()


def test_a_launch_that_is_named_needs_no_step(store: Store) -> None:
    run = store.accept(delivery("0", [5], attempt="0")).run_id
    store.accept(delivery("1", config={ConfigKey("lr"): 2}, attempt="1"))
    assert store.config(run) == {ConfigKey("lr"): {1: 2}}


@pytest.mark.parametrize("value", [True, 24, 24.0, 1e-8, "24", "true", "", 2**62, "ä😀\n"])
def test_values_keep_their_kind(store: Store, value: ConfigValue) -> None:
    run = store.accept(delivery("0", [1], {ConfigKey("x"): value})).run_id
    [[found]] = [held.values() for held in store.config(run).values()]
    assert (found, type(found)) == (value, type(value))


def test_oversized_configuration_is_reported(
    store: Store, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "MAX_RUN_SETTINGS", 5)
    long = {ConfigKey("n" * 300): 1, ConfigKey("text"): "x" * 5000, ConfigKey("nul\0"): "\0"}
    run = store.accept(delivery("0", [1], long)).run_id
    assert store.config(run) == {ConfigKey("nul?"): {0: "?"}, ConfigKey("text"): {0: "x" * 2000}}
    many = {ConfigKey(f"x{at}"): at for at in range(10)} | {ConfigKey("text"): "new"}
    store.accept(delivery("1", [2], many))
    held = store.config(run)
    assert (len(held), held[ConfigKey("text")]) == (5, {0: "new"})
    with reading(engine) as connection:
        rows = connection.execute(select(UnreadableRow.place, UnreadableRow.reason))
        told = {place: reason for place, reason in rows}
    assert len(told) == 3
    assert "5,000 characters" in told["config text"]
    assert "7 more" in told["settings of the run"]


def test_configuration_is_deleted_with_its_run(store: Store, engine: Engine) -> None:
    run = store.accept(delivery("0", [1], {ConfigKey("lr"): 1})).run_id
    delete_run(engine, run, now=1.0)
    purge(engine, pause=lambda _: None)
    with reading(engine) as connection:
        assert connection.scalar(select(func.count()).select_from(ConfigRow)) == 0


def test_the_same_run_written_by_two_stores_settles_once(store: Store, engine: Engine) -> None:
    run = store.accept(delivery("0", [1], {ConfigKey("lr"): 1})).run_id
    store.accept(replace(delivery("1"), batch=delivery("", config={ConfigKey("lr"): 2}).batch))
    store.accept(delivery("2", [2], {ConfigKey("wd"): 1}))
    assert store.config(run) == {ConfigKey("lr"): {0: 2}, ConfigKey("wd"): {0: 1}}


def test_nested_settings_get_dotted_names() -> None:
    nested = {"model": {"layers": 2, "rope": {"theta": 1e4}}, "lr": 0.1, "betas": [0.9, 0.95], "none": None}
    assert flatten_settings(nested) == {
        "model.layers": 2, "model.rope.theta": 1e4, "lr": 0.1, "betas": "[0.9, 0.95]", "none": "null",
    }  # fmt: skip
    deep: dict[str, object] = {}
    for _ in range(5000):
        deep = {"a": deep}
    assert all(len(name) < 50 for name in flatten_settings(deep))
    assert to_config_value(float("nan")) == "nan"


def test_pending_configuration_is_assigned_to_current_launches(store: Store) -> None:
    lr = ConfigKey("lr")
    run = store.accept(delivery("0", [1, 2], {lr: 1})).run_id
    store.accept(delivery("1", config={lr: 2}))
    assert store.config(run) == {lr: {0: 1, 1: 2}}
    store.accept(delivery("2", [1], attempt="1", writer="v"))  # another process of the new launch comes first
    assert store.config(run) == {lr: {0: 1, 1: 2}}
    store.accept(delivery("3", [2], attempt="5", writer="v"))
    assert store.config(run) == {lr: {0: 1, 1: 2}}


def test_pending_configuration_belongs_to_the_next_launch(store: Store, engine: Engine) -> None:
    lr = ConfigKey("lr")

    def says(batch_id: str, value: int) -> None:
        said = delivery(batch_id, config={lr: value}, writer="config.json")
        store.accept(replace(said, batch=replace(said.batch, restarts=True)))

    run = store.accept(delivery("0", [5, 6])).run_id
    says("1", 1)
    assert store.config(run) == {lr: {0: 1}}
    says("2", 2)
    assert store.config(run) == {lr: {0: 1}}  # nobody knows yet whether there will be one
    assert store.accept(delivery("3", [5])).attempt == 1
    assert store.config(run) == {lr: {0: 1, 1: 2}}
    assert store.check() == []
    again = Store(engine)
    assert again.config(run) == {lr: {0: 1, 1: 2}}


def test_a_damaged_setting_is_named_by_check(store: Store, engine: Engine) -> None:
    store.accept(delivery("0", [1], {ConfigKey("lr"): 1}))
    with writing(engine) as connection:
        connection.execute(update(ConfigRow).values(value="{"))
    assert [line for line in store.check() if "config lr" in line]


def test_unstorable_numbers_are_stored_as_text(store: Store) -> None:
    said = {ConfigKey("a"): float("nan"), ConfigKey("b"): float("inf"), ConfigKey("c"): 10**400}
    run = store.accept(delivery("0", [1], said)).run_id
    kept = {key.name: value[0] for key, value in store.config(run).items()}
    assert kept == {"a": "nan", "b": "inf", "c": str(10**400)}
    assert store.check() == []
