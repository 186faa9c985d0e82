"""Which runs filters find, in which order, and what an answer has."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine, event, insert

from holter.server.database import connect
from holter.server.migrate import upgrade
from holter.server.models import ConfigRow, IncidentRow
from holter.server.read_models.runs import RunReader
from holter.server.run_details import RunDetailStore
from holter.server.run_search.ordering import UnknownOrderError
from holter.server.run_search.run_search import RunQuery, RunSearch
from holter.server.run_search.syntax import FilterError
from holter.server.store import Store
from holter.types import Batch, Column, ConfigKey, ConfigValue, Delivery, SeriesKey

NOW = 1_700_000_000.0
Add = Callable[..., int]


@pytest.fixture
def add(store: Store) -> Add:
    """Stores a run with settings and a loss, and returns its internal id."""

    def send(
        name: str, *, loss: float = 2.0, project: str = "llm", finished: bool = False, **config: ConfigValue
    ) -> int:
        steps = np.arange(20)
        values = loss + np.linspace(0.5, 0.0, 20)
        batch = Batch(
            steps=steps,
            times=NOW - 20.0 + steps,
            columns=(Column(key=SeriesKey("train/loss"), values=values),),
            attempt="0",
            config={ConfigKey(key.replace("__", ".")): value for key, value in config.items()},
        )
        delivery = Delivery(
            project=project, run=name, writer="w", batch_id="1", batch=batch, finished=finished
        )
        return store.accept(delivery).run_id

    return send


@pytest.fixture
def search(engine: Engine, store: Store) -> RunSearch:
    """A search whose clock stands still."""
    return RunSearch(engine, store, RunReader(engine, store, clock=lambda: NOW), clock=lambda: NOW)


@pytest.fixture
def store(engine: Engine) -> Store:  # the fixture of conftest, with a clock that stands still
    """A running store whose points arrive at once."""
    store = Store(engine, clock=lambda: NOW)
    store.start()
    yield store
    store.close()


@pytest.fixture
def found(search: RunSearch) -> Callable[[str], list[str]]:
    """The names of the runs that a filter finds, sorted."""
    return lambda text: sorted(run.name for run in search.find(text))


def incident(engine: Engine, run_id: int, kind: str, severity: str, state: str = "open") -> None:
    row = {
        "run_id": run_id, "fingerprint": kind, "kind": kind, "metric": "loss", "labels": {}, "attempt": 0,
        "start_step": 3, "detected_step": 4, "severity": severity, "confidence": 1.0, "summary": "rises",
        "advice": "", "evidence": {}, "state": state, "opened_at": NOW, "updated_at": NOW,
    }  # fmt: skip
    with engine.begin() as connection:
        connection.execute(insert(IncidentRow).values(row))


def test_runs_are_found_by_what_is_known_about_them(
    engine: Engine, add: Add, found: Callable[[str], list[str]]
) -> None:
    details = RunDetailStore(engine)
    first = add("gpt-small", loss=2.0, lr=3e-4, optimizer__name="AdamW", seed=1)
    add("gpt-large", loss=3.0, optimizer__lr=1e-4, model__n_layer=48, seed=2)
    third = add("vit", project="vision", loss=1.0, learning_rate="0.001", finished=True)
    details.describe(first, add_tags=["baseline", "good one"], group="sweep-1", starred=True, notes="A note")
    details.set_attributes(third, {"mlflow.tag.team": "nlp"})
    incident(engine, first, "spike_slow", "warning", state="recovered")
    incident(engine, third, "divergence", "critical")
    everything = ["gpt-large", "gpt-small", "vit"]
    for text, names in {
        "": everything,
        "gpt": ["gpt-large", "gpt-small"],
        "-gpt": ["vit"],
        "project:vision": ["vit"],
        "project:VISION,llm gpt": ["gpt-large", "gpt-small"],
        "name~gpt-*": ["gpt-large", "gpt-small"],
        "state:running": ["gpt-large", "gpt-small"],
        "-state:finished": ["gpt-large", "gpt-small"],
        "lr<3e-4": ["gpt-large"],
        "lr<=3e-4": ["gpt-large", "gpt-small"],
        "learning_rate=0.001": ["vit"],
        "optimizer.lr:*": ["gpt-large"],
        "-lr<3e-4": ["gpt-small", "vit"],
        "optimizer:adamw": ["gpt-small"],
        "num_layers>40": ["gpt-large"],
        "seed:1,2": ["gpt-large", "gpt-small"],
        "seed!=1": ["gpt-large"],
        "tag:baseline": ["gpt-small"],
        'tag:"good one"': ["gpt-small"],
        "tag:team=nlp": ["vit"],
        "group:sweep-*": ["gpt-small"],
        "is:starred": ["gpt-small"],
        "note:note": ["gpt-small"],
        "kind:spike_slow": ["gpt-small"],
        "open:spike_slow": [],
        "severity:critical": ["vit"],
        "is:unresolved": ["vit"],
        "slow": ["gpt-small"],
        "last(train/loss)<2.5": ["gpt-small", "vit"],
        "best(loss)>=3": ["gpt-large"],
        "loss>2.5": ["gpt-large"],
        "updated<1h": everything,
        "created>1d": [],
        "created>=2023-11-14": everything,
        "steps>=19 attempts=1": everything,
    }.items():
        assert found(text) == names, text


@pytest.mark.parametrize(
    ("text", "position", "expected"),
    [
        ("state:runing", 6, "did you mean running?"),
        ("kind:divergance", 5, "did you mean divergence?"),
        ("gpt steps>many", 10, "expected a number"),
        ("project<3", 0, "is text"),
        ("created:soon", 0, "is a time"),
        ("created<soon", 8, "expected a date"),
        ("mean(loss)<2", 0, "expected last, best, min or max"),
    ],
)
def test_a_filter_that_cannot_be_meant_is_refused(
    search: RunSearch, text: str, position: int, expected: str
) -> None:
    with pytest.raises(FilterError) as caught:
        search.find(text)
    assert caught.value.position == position
    assert expected in caught.value.expected


def test_an_unknown_key_finds_nothing_and_is_named(search: RunSearch, add: Add) -> None:
    add("a")
    answer = search.runs(RunQuery(filter="stat:running"))
    assert answer["runs"] == []
    assert answer["notices"] == ["No run has a setting or metric stat; did you mean state?"]


def test_runs_are_sorted_by_settings_metrics_and_names(search: RunSearch, add: Add) -> None:
    for number, lr in ((10, 1e-4), (9, 3e-4), (2, None)):
        add(f"run-{number}", loss=float(number), **({} if lr is None else {"lr": lr}))

    def names(sort: str) -> list[str]:
        return [run["name"] for run in search.runs(RunQuery(sort=sort))["runs"]]

    assert names("name") == ["run-2", "run-9", "run-10"]
    assert names("lr") == ["run-10", "run-9", "run-2"]
    assert names("-lr") == ["run-9", "run-10", "run-2"], "runs without a value come last in both directions"
    assert names("best(loss)") == ["run-2", "run-9", "run-10"]
    with pytest.raises(UnknownOrderError, match="expected a setting"):
        names("nothing")


def test_what_runs_comes_first_and_trouble_that_is_over_third(
    engine: Engine, search: RunSearch, add: Add
) -> None:
    for name, kind, finished in (
        ("over", "", True), ("unresolved", "divergence", True), ("calm", "", False), ("ill", "stall", False),
    ):  # fmt: skip
        run = add(name, finished=finished)
        if kind:
            incident(engine, run, kind, "warning")
    answer = search.runs(RunQuery(sort="attention"))
    assert [run["name"] for run in answer["runs"]] == ["ill", "calm", "unresolved", "over"]
    assert answer["counts"] == {
        "all": 4, "found": 4, "running": 1, "stalled": 1,
        "sections": {"attention": 1, "running": 1, "unresolved": 1, "finished": 1},
    }  # fmt: skip


def test_the_setting_of_the_newest_attempt_counts(
    add: Add, engine: Engine, found: Callable[[str], list[str]]
) -> None:
    run_id = add("gpt", lr=2.0, text='a "quoted", text')
    later = [
        {"run_id": run_id, "attempt": n, "name": "lr", "value": str(value)} for n, value in ((2, 1), (1, 3))
    ]
    with engine.begin() as connection:
        connection.execute(insert(ConfigRow), later)
    assert [found(f"lr={value}") for value in (1, 2, 3)] == [["gpt"], [], []]
    assert found("text:*quoted*") == ["gpt"]


def test_columns_have_settings_and_statistics(search: RunSearch, add: Add) -> None:
    add("a", loss=2.0, optimizer__lr=3e-4, name__x="text")
    columns = ("lr", "last(train/loss)", "best(loss)", "mean(train/loss)", "nothing", "config.optimizer.lr")
    (run,) = search.runs(RunQuery(columns=columns))["runs"]
    assert run["values"] == {
        "lr": 3e-4, "last(train/loss)": 2.0, "best(loss)": 2.0, "mean(train/loss)": pytest.approx(2.25),
        "nothing": None, "config.optimizer.lr": 3e-4,
    }  # fmt: skip
    assert run["trend"][0] == 2.5


def test_pages_and_changes(engine: Engine, search: RunSearch, add: Add) -> None:
    ids = {name: add(name) for name in "abcde"}
    query = RunQuery(sort="name", limit=2, since="0")
    first = search.runs(query)
    assert [run["name"] for run in first["runs"]] == ["a", "b"]
    assert first["order"] == [run["id"] for run in first["runs"]]
    assert first["next"] == "2"
    last = search.runs(replace(query, offset=4))
    assert ([run["name"] for run in last["runs"]], last["next"]) == (["e"], None)
    again = search.runs(replace(query, since=first["version"]))
    assert (again["runs"], again["order"]) == ([], first["order"])
    RunDetailStore(engine).describe(ids["b"], starred=True)
    changed = search.runs(replace(query, since=first["version"]))
    assert [(run["name"], run["starred"]) for run in changed["runs"]] == [("b", True)]
    assert search.runs(replace(query, since=changed["version"]))["runs"] == []


def test_completion_offers_keys_settings_and_the_values_of_runs(search: RunSearch, add: Add) -> None:
    add("gpt", optimizer__name="adamw", lr=3e-4)
    add("vit", project="vision", optimizer__name="lion")

    def offered(text: str) -> list[str]:
        return [each["text"] for each in search.complete(text, len(text))["completions"]]

    assert "project:" in offered("pro")
    assert "optimizer.name" in offered("opti")
    assert "last(train/loss)" in offered("loss")
    assert offered("project:vi") == ["vision "]
    assert offered("lr>1 -state:fin") == ["finished "]
    assert offered("optimizer:") == ["adamw ", "lion "]
    assert search.complete("a state:run", 11)["start"] == 8


def test_a_start_reads_the_index_so_that_the_first_question_does_not(
    add: Add, engine: Engine, store: Store
) -> None:
    add("first")
    search = RunSearch(engine, store, RunReader(engine, store), max_age=3600.0)
    search.start()
    search.close()
    statements: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda *details: statements.append(details[2]))
    assert [run.name for run in search.index.snapshot().runs] == ["first"]
    assert statements == []
    add("second")
    search.index.notice(None)
    assert len(search.index.snapshot().runs) == 2


def test_a_server_that_is_stopped_at_once_reports_nothing(
    add: Add, engine: Engine, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    add("first")
    search = RunSearch(engine, store, RunReader(engine, store))
    store.begin_to_stop()
    search.start()
    search.close()
    assert caplog.records == []


def test_an_index_that_cannot_be_read_at_the_start_is_read_by_the_first_question(
    store: Store, engine: Engine, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    empty = connect(f"sqlite:///{tmp_path / 'empty.db'}")  # without tables
    search = RunSearch(empty, store, RunReader(engine, store))
    search.start()
    search.close()
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    upgrade(empty)
    assert list(search.index.snapshot().runs) == []
    empty.dispose()
