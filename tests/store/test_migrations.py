"""Migrations: both databases go up, down and up again, and end where the models are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from alembic.util.exc import CommandError
from sqlalchemy import Connection, Engine, insert, inspect, select, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from holter.server.alerting import read_incidents
from holter.server.alerting.incident_rows import normalize_candidate
from holter.server.alerting.lifecycle import changes
from holter.server.alerting.silent_agents import detect_silent_agents, silent_agents
from holter.server.database import connect, sqlite
from holter.server.migrate import check, downgrade, migrations, upgrade
from holter.server.models import Base, IncidentRow, NotificationRow, Project, RunRecord
from tests.support import unsynced_sqlite


def test_up_down_and_up_again(engine: Engine) -> None:
    tables = set(Base.metadata.tables)
    assert set(inspect(engine).get_table_names()) == tables | {"alembic_version"}
    downgrade(engine, "base")
    assert set(inspect(engine).get_table_names()) == {"alembic_version"}
    upgrade(engine)
    upgrade(engine)
    assert set(inspect(engine).get_table_names()) == tables | {"alembic_version"}


def test_the_tables_are_those_of_the_models(engine: Engine) -> None:
    check(engine)
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE run ADD COLUMN surprise INTEGER"))
    with pytest.raises(CommandError, match="surprise"):
        check(engine)


def test_migration_preserves_rows_of_older_tables(engine: Engine) -> None:
    """Notifications of 0001, which knew incidents only."""
    told = (
        "INSERT INTO notification ({}channel, key, reason, detail, state, attempts, next_try_at, created_at)"
    )
    values = "VALUES ({}'team', '{}', 'opened', '{{}}', 'waiting', 0, 1, 1)"
    downgrade(engine, "0001")
    with engine.begin() as connection:
        _incident(connection)
        connection.execute(text(f"{told} {values}".format("id, incident_id, ", "1, 1, ", "a")))
    upgrade(engine)
    with engine.begin() as connection:
        assert connection.scalar(text("SELECT incident_id FROM notification")) == 1
        with pytest.raises(IntegrityError), connection.begin_nested():  # the key of another message
            connection.execute(text(f"{told} {values}".format("id, ", "2, ", "a")))
    downgrade(engine, "0001")
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT count(*) FROM notification")) == 1


AGENT = {
    "agent": "n17:1", "host": "n17", "kind": "files", "project": "llm", "paths": ["/logs/n17"], "files": 4,
    "files_behind": 1, "since": 1000.5, "became": "", "at": None,
}  # fmt: skip


def test_outages_become_incidents_with_their_history(engine: Engine) -> None:
    """Rows of 0004, which had a table for agents that fell silent, and one notification of each state."""
    back, gone = {**AGENT, "became": "back", "at": 1300.0}, {**AGENT, "became": "forgotten", "at": 1300.0}
    outages = [(1, "open", None, [AGENT]), (2, "recovered", 1400.0, [back]), (3, "closed", 1300.0, [gone])]
    downgrade(engine, "0004")
    with engine.begin() as connection:
        _incident(connection)
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT setval(pg_get_serial_sequence('incident', 'id'), 1)"))
        for number, state, over_at, agents in outages:
            values = {"id": number, "state": state, "over_at": over_at, "agents": json.dumps(agents)}
            connection.execute(
                text(
                    "INSERT INTO outage (id, state, opened_at, over_at, alone, agents)"
                    " VALUES (:id, :state, 1200, :over_at, :alone, :agents)"
                ),
                {**values, "alone": False},
            )
            for state_of_message, reason in (("delivered", "opened"), ("waiting", state)):
                connection.execute(
                    text(
                        "INSERT INTO notification (outage_id, channel, key, reason, detail, state, attempts,"
                        " next_try_at, created_at, delivered_at) VALUES (:id, 'team', :key, :reason, '{}',"
                        " :state, 1, 1200, 1200, 1201)"
                    ),
                    {"id": number, "key": f"{number}{reason}", "reason": reason, "state": state_of_message},
                )
    upgrade(engine)
    check(engine)
    with Session(engine) as session:
        rows = session.scalars(select(IncidentRow).order_by(IncidentRow.id)).all()
        run_incident, *incidents = read_incidents(session, rows)
        notifications = session.scalars(select(NotificationRow).order_by(NotificationRow.id)).all()
    assert run_incident.run is not None
    assert [incident.state for incident in incidents] == ["open", "recovered", "closed"]
    assert [[entry.type for entry in incident.history] for incident in incidents] == [
        ["opened", "notified"], ["opened", "notified", "recovered"], ["opened", "notified", "closed"],
    ]  # fmt: skip
    assert [row.incident_id for row in notifications] == [incidents[i // 2].id for i in range(6)]
    assert [silent_agents(incident.finding)[0].became for incident in incidents] == ["", "back", "forgotten"]
    reports = [{**AGENT, "every": 30.0, "seen_at": 1000.5, "ended": False}]
    for incident in incidents[:1]:  # what detection makes of it now is the same incident, unchanged
        (same,) = detect_silent_agents([incident], reports, now=1250.0, watched_since=0.0)
        assert changes([incident], [normalize_candidate(same)]) == []
    downgrade(engine, "0004")
    with engine.connect() as connection:
        kept = connection.execute(text("SELECT state, opened_at, over_at FROM outage ORDER BY id")).all()
        messages = connection.scalar(text("SELECT count(outage_id) FROM notification"))
    assert [tuple(row) for row in kept] == [(state, 1200, over_at) for _, state, over_at, _ in outages]
    assert messages == 6


def _incident(connection: Connection) -> None:
    project = {"id": 1, "name": "llm", "created_at": 1.0}
    connection.execute(insert(Project).values(project))
    run = {"id": 1, "public_id": "a", "project_id": 1, "name": "a", "created_at": 1.0, "updated_at": 1.0}
    connection.execute(insert(RunRecord).values(run))
    finding: dict[str, Any] = dict.fromkeys(("attempt", "start_step", "detected_step"), 1)
    finding |= dict.fromkeys(("fingerprint", "metric", "summary", "advice"), "")
    finding |= {"kind": "stall", "severity": "warning", "state": "open", "labels": {}, "evidence": {}}
    finding |= dict.fromkeys(("id", "run_id", "confidence", "opened_at", "updated_at"), 1)
    connection.execute(insert(IncidentRow).values(finding))


def test_a_failed_migration_leaves_nothing_behind(tmp_path: Path) -> None:
    engine = connect(f"sqlite:///{tmp_path / 'half.db'}")
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE writer (name TEXT)"))  # in the way of the migration
    with pytest.raises(Exception, match="writer"):
        upgrade(engine)
    assert inspect(engine).get_table_names() == ["writer"]
    engine.dispose()


def test_sqlite_is_safe_by_default(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "_PRAGMAS", unsynced_sqlite.SHIPPED)
    engine = connect(sqlite_url)
    with engine.connect() as connection:
        assert connection.scalar(text("PRAGMA journal_mode")) == "wal"
        assert connection.scalar(text("PRAGMA synchronous")) == 2
        assert connection.scalar(text("PRAGMA foreign_keys")) == 1
    engine.dispose()


def test_other_databases_are_refused() -> None:
    with pytest.raises(ValueError, match="use sqlite:///FILE or postgresql"):
        connect("mysql://root@localhost/x")


def test_the_migrations_are_found() -> None:
    assert (migrations() / "env.py").is_file()
    assert not (migrations() / "__init__.py").exists()
