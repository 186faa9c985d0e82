"""What a file says of its run is checked before a database is told: a file may come from anybody."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, func, insert, select

from holter.server.database import reading, writing
from holter.server.import_export.import_file import ImportRefusedError
from holter.server.import_export.import_targets import LocalImportTarget
from holter.server.import_export.importer import ImportContext
from holter.server.import_export.run_metadata import export_metadata
from holter.server.import_export.validation import validate_metadata
from holter.server.models import PlannedEventRow, RunRecord
from holter.server.run_details import RunDetailStore
from tests.support.exported_runs import odd_run, write_export
from tests.support.receivers import RATE_JUMP
from tests.support.stored_runs import add_incident, running_store


@pytest.fixture
def about(sqlite_engine: Engine) -> dict[str, Any]:
    """What an export says of a run that has everything."""
    with running_store(sqlite_engine) as store:
        run_id = odd_run(store)
    add_incident(sqlite_engine, run_id, start=100, end=140)
    details = RunDetailStore(sqlite_engine)
    details.update(run_id, notes="first try", tags=["night"], exit_code=1)
    details.set_attributes(run_id, {"file.requirements.txt": "numpy"})
    with writing(sqlite_engine) as connection:
        project = connection.scalar(select(RunRecord.project_id).where(RunRecord.id == run_id))
        row = {"project_id": project, "run_id": run_id, "said": {"kind": ["stall"], "to_step": 7}}
        connection.execute(insert(PlannedEventRow).values(row | {"added_at": 1.5, "added_by": "ana"}))
    with reading(sqlite_engine) as connection:
        said: dict[str, Any] = json.loads(json.dumps(export_metadata(connection, run_id)))
    return said


def test_exported_metadata_is_valid(about: dict[str, Any]) -> None:
    assert validate_metadata(about) == about | {"partial": False}


def test_files_without_details_and_attributes_are_read(about: dict[str, Any]) -> None:
    older = {name: value for name, value in about.items() if name not in ("details", "attributes")}
    assert validate_metadata(older) == about | {"partial": False, "details": None, "attributes": []}


def place(*names: str | int) -> Callable[[Any, Any], None]:
    """Puts a value somewhere in what is said."""

    def put(said: Any, value: Any) -> None:
        for name in names[:-1]:
            said = said[name]
        said[names[-1]] = value

    return put


@pytest.mark.parametrize(
    ("where", "value", "reason"),
    [
        (place("project"), 7, "run.project: expected text, found '7'"),
        (place("finished_at"), "soon", "run.finished_at: expected a number or null"),
        (place("attempts"), None, "attempts: expected a list"),
        (place("attempts", 0, "number"), 2**31, r"attempts\[0\].number: expected a number of 32 bits"),
        (place("attempts", 0, "number"), "0", r"attempts\[0\].number: expected a int, found '0'"),
        (place("attempts", 0, "colour"), "red", r"attempts\[0\]: colour is unknown: update Holter"),
        (place("attempts", 0), {}, r"attempts\[0\].number: missing"),
        (place("attempt_state"), 7, "run.attempt_state is unreadable"),
        (place("config", 0, "value"), "not JSON", "config 'lr': expected labels and value as JSON"),
        (place("config", 0, "labels"), "[1]", "config 'lr': expected labels and value as JSON"),
        (place("expected", 0, "said"), {"kind": ["no such"]}, "no such"),
        (place("details", "tags"), [7], "details.tags: expected a list of texts, found '7'"),
        (place("details", "exit_code"), "1", "details.exit_code: expected a int, found '1'"),
        (place("attributes", 0, "value"), 7, r"attributes\[0\].value: expected a str, found '7'"),
        (
            place("attributes", 0),
            {"name": "wandb.state", "value": "[]"},
            "attributes 'wandb.state': expected a JSON object",
        ),
        (place("thinned_series"), [{"metric": "loss"}], "thinned_series: expected metric, labels"),
        (place("incidents", 0, "kind"), "bad luck", "incidents.kind: expected one of spike_fast"),
        (place("incidents", 0, "state"), "asleep", "incidents.state: expected one of open, recovered"),
        (place("incidents", 0, "summary"), "a\0b", "incidents.summary: expected text"),
        (place("incidents", 0, "evidence"), [], "incidents.evidence: expected a dict"),
        (place("incidents", 0, "causes"), [{"code": "luck"}], "incidents.causes: expected causes as"),
        (
            place("incidents", 0, "causes"),
            [RATE_JUMP.as_json() | {"score": "1"}],
            "incidents.causes: expected",
        ),
        (place("incidents", 0, "metric"), "x" * 501, "incidents.metric: expected at most 500 characters"),
        (place("incidents", 0, "events", 0, "type"), "sung", "incidents.events.type: expected one of opened"),
    ],
)
def test_invalid_metadata_is_named(
    about: dict[str, Any], where: Callable[[Any, Any], None], value: object, reason: str
) -> None:
    where(said := copy.deepcopy(about), value)
    with pytest.raises(ValueError, match=reason):
        validate_metadata(said)


def test_unstorable_metadata_leaves_nothing(engine: Engine, sqlite_engine: Engine, tmp_path: Path) -> None:
    with running_store(sqlite_engine) as store:
        run_id = odd_run(store, "twice")
    file = write_export(sqlite_engine, run_id, "json", tmp_path / "twice.json")
    head, _, rest = file.read_text().partition("\n")
    said = json.loads(head + "]}")
    said["run"]["attempts"] *= 2  # each is there once
    file.write_text(json.dumps(said | {"series": []})[:-2] + "\n" + rest)
    with running_store(engine) as store, pytest.raises(ImportRefusedError, match="cannot store its content"):
        LocalImportTarget(ImportContext(engine=engine, store=store)).file(file, run="other")
    with reading(engine) as connection:
        assert connection.scalar(select(func.count()).where(RunRecord.name == "other")) == 0
