"""Agents that fell silent together are incidents like all others, without a run; the table of outages goes.

Revision ID: 0005
Revises: 0004
"""

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_KIND = "agent_silent"
_SHOWN = 5
_OUTCOMES = {"back": "back", "ended": "back and finished", "forgotten": "no longer expected"}

_outage = sa.table(
    "outage",
    sa.column("id", _NUMBER),
    sa.column("state", sa.String()),
    sa.column("opened_at", sa.Float()),
    sa.column("over_at", sa.Float()),
    sa.column("alone", sa.Boolean()),
    sa.column("agents", sa.JSON()),
)
_incident = sa.table(
    "incident",
    sa.column("id", _NUMBER),
    sa.column("run_id", sa.Integer()),
    sa.column("fingerprint", sa.String()),
    sa.column("kind", sa.String()),
    sa.column("metric", sa.String()),
    sa.column("labels", sa.JSON()),
    sa.column("attempt", sa.Integer()),
    sa.column("start_step", sa.BigInteger()),
    sa.column("start_time", sa.Float()),
    sa.column("end_step", sa.BigInteger()),
    sa.column("detected_step", sa.BigInteger()),
    sa.column("severity", sa.String()),
    sa.column("confidence", sa.Float()),
    sa.column("summary", sa.Text()),
    sa.column("advice", sa.Text()),
    sa.column("evidence", sa.JSON()),
    sa.column("state", sa.String()),
    sa.column("opened_at", sa.Float()),
    sa.column("updated_at", sa.Float()),
    sa.column("recovered_at", sa.Float()),
    sa.column("closed_at", sa.Float()),
)
_event = sa.table(
    "incident_event",
    sa.column("incident_id", _NUMBER),
    sa.column("at", sa.Float()),
    sa.column("type", sa.String()),
    sa.column("text", sa.Text()),
    sa.column("detail", sa.JSON()),
)
_notification = sa.table(
    "notification",
    sa.column("id", _NUMBER),
    sa.column("incident_id", _NUMBER),
    sa.column("outage_id", _NUMBER),
    sa.column("channel", sa.String()),
    sa.column("reason", sa.String()),
    sa.column("detail", sa.JSON()),
    sa.column("state", sa.String()),
    sa.column("created_at", sa.Float()),
    sa.column("delivered_at", sa.Float()),
    sa.column("error", sa.Text()),
)


def upgrade() -> None:
    _alter_run_id(nullable=True)
    for outage in op.get_bind().execute(sa.select(_outage).order_by(_outage.c.id)).all():
        _to_incident(outage._asdict())
    with op.batch_alter_table("notification", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_notification_outage_id"))
        batch_op.drop_constraint(batch_op.f("ck_notification_about_one"), type_="check")
        batch_op.drop_constraint(batch_op.f("fk_notification_outage_id_outage"), type_="foreignkey")
        batch_op.drop_column("outage_id")
        batch_op.alter_column("incident_id", existing_type=_NUMBER, nullable=False)
    op.drop_table("outage")


def downgrade() -> None:
    op.create_table(
        "outage",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("opened_at", sa.Float(precision=53), nullable=False),
        sa.Column("over_at", sa.Float(precision=53), nullable=True),
        sa.Column("alone", sa.Boolean(), nullable=False),
        sa.Column("agents", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outage")),
    )
    op.create_index(op.f("ix_outage_state"), "outage", ["state"])
    with op.batch_alter_table("notification", schema=None) as batch_op:
        batch_op.alter_column("incident_id", existing_type=_NUMBER, nullable=True)
        batch_op.add_column(sa.Column("outage_id", _NUMBER, nullable=True))
        batch_op.create_foreign_key(
            batch_op.f("fk_notification_outage_id_outage"), "outage", ["outage_id"], ["id"]
        )
        batch_op.create_index(batch_op.f("ix_notification_outage_id"), ["outage_id"])
    query = sa.select(_incident).where(_incident.c.run_id.is_(None)).order_by(_incident.c.id)
    for incident in op.get_bind().execute(query).all():
        _to_outage(incident._asdict())
    with op.batch_alter_table("notification", schema=None) as batch_op:
        batch_op.create_check_constraint(
            batch_op.f("ck_notification_about_one"), "(incident_id IS NULL) <> (outage_id IS NULL)"
        )
    _alter_run_id(nullable=False)


def _alter_run_id(*, nullable: bool) -> None:
    if op.get_bind().dialect.name != "sqlite":
        op.alter_column("incident", "run_id", existing_type=sa.Integer(), nullable=nullable)
        return
    with _set_aside("notification", "incident_event"), op.batch_alter_table("incident") as batch_op:
        batch_op.alter_column("run_id", existing_type=sa.Integer(), nullable=nullable)


@contextmanager
def _set_aside(*tables: str) -> Iterator[None]:
    """Remove tables and bring them back unchanged: SQLite copies a table to alter it, and foreign keys of
    others must not point to the one that it then drops."""
    connection = op.get_bind()
    query = sa.text(
        "SELECT sql FROM sqlite_master WHERE tbl_name = :table AND sql IS NOT NULL ORDER BY type = 'index'"
    )
    definitions = {table: connection.scalars(query, {"table": table}).all() for table in tables}
    for table in tables:
        op.execute(f"CREATE TABLE set_aside_{table} AS SELECT * FROM {table}")
        op.execute(f"DROP TABLE {table}")
    yield
    for table in tables:
        for definition in definitions[table]:
            connection.exec_driver_sql(definition)
        op.execute(f"INSERT INTO {table} SELECT * FROM set_aside_{table}")
        op.execute(f"DROP TABLE set_aside_{table}")


def _to_incident(outage: dict[str, Any]) -> None:
    connection = op.get_bind()
    values = _incident_values(outage)
    number = connection.scalar(sa.insert(_incident).values(values).returning(_incident.c.id))
    events = [_opened_event(outage, values)]
    if outage["over_at"] is not None:
        detail = {"end_step": values["end_step"]} if outage["state"] == "recovered" else {}
        events.append((outage["over_at"], outage["state"], values["summary"], detail))
    events += _notified_events(outage["id"])
    for at, kind, text, detail in sorted(events, key=lambda event: event[0]):
        row = {"incident_id": number, "at": at, "type": kind, "text": text, "detail": detail}
        connection.execute(sa.insert(_event).values(row))
    mine = _notification.c.outage_id == outage["id"]
    connection.execute(sa.update(_notification).where(mine).values(incident_id=number, outage_id=None))


def _incident_values(outage: dict[str, Any]) -> dict[str, Any]:
    agents, over_at = outage["agents"], outage["over_at"]
    start = min(agent["since"] for agent in agents)
    start_step, detected_step = round(1000 * start), round(1000 * outage["opened_at"])
    fingerprint = f"{_KIND}|{start_step}|{detected_step}|{agents[0]['agent']}"
    hosts = {agent["host"] for agent in agents}
    return {
        "run_id": None,
        "fingerprint": blake2b(fingerprint.encode(), digest_size=16).hexdigest(),
        "kind": _KIND,
        "metric": "agent/reports",
        "labels": {"steps": "milliseconds"} | ({"host": agents[0]["host"]} if len(hosts) == 1 else {}),
        "attempt": 0,
        "start_step": start_step,
        "start_time": start_step / 1000,
        "end_step": None if over_at is None else round(1000 * over_at),
        "detected_step": detected_step,
        "severity": "warning",
        "confidence": 1.0,
        "summary": _end_summary(agents) if over_at is not None else _silent_summary(outage),
        "advice": _advice(outage["alone"]),
        "evidence": _evidence(agents, outage["alone"]),
        "state": outage["state"],
        "opened_at": outage["opened_at"],
        "updated_at": outage["opened_at"] if over_at is None else over_at,
        "recovered_at": over_at if outage["state"] == "recovered" else None,
        "closed_at": over_at if outage["state"] == "closed" else None,
    }


def _members(agents: list[dict[str, Any]]) -> str:
    hosts = list(dict.fromkeys(agent["host"] for agent in agents))
    where = hosts[0] if len(hosts) == 1 else f"{len(hosts):,} machines"
    return f"Agent on {where}" if len(agents) == 1 else f"{len(agents):,} agents on {where}"


def _silent_summary(outage: dict[str, Any]) -> str:
    agents = outage["agents"]
    its, watched = ("its", "it follows") if len(agents) == 1 else ("their", "they follow")
    summary = f"{_members(agents)} stopped reporting without announcing {its} end."
    cause = " No agent reports any more: the connection to Holter may be broken." if outage["alone"] else ""
    return f"{summary} What {watched} is not watched meanwhile.{cause}"


def _end_summary(agents: list[dict[str, Any]]) -> str:
    outcomes = [agent["became"] for agent in agents]
    counts = {outcome: outcomes.count(outcome) for outcome in _OUTCOMES if outcome in outcomes}
    if len(counts) > 1:
        shares = ", ".join(f"{count:,} {_OUTCOMES[outcome]}" for outcome, count in counts.items())
        return f"{_members(agents)}: {shares}."
    every, verb = ("", "is") if len(agents) == 1 else ("All ", "are")
    return f"{every}{_members(agents)} {verb} {_OUTCOMES[outcomes[0]]}."


def _advice(all_silent: bool) -> str:
    if all_silent:
        return (
            "Check the connection to Holter first: network, proxy, certificate, a token that was revoked. "
            "Agents that can reach Holter again continue by themselves where they stopped."
        )
    return (
        "Check that the machine is up and can reach Holter, then start the agent again: it continues reading "
        "where it stopped. If it is gone for good, press Forget on the overview."
    )


def _evidence(agents: list[dict[str, Any]], all_silent: bool) -> dict[str, Any]:
    follows = [path for agent in agents for path in agent["paths"] or ["a pipe"]]
    lists = {
        "agents": [agent["agent"] for agent in agents],
        "machines": [agent["host"] for agent in agents],
        "follows": follows,
        "projects": [agent["project"] for agent in agents if agent["project"]],
    }
    return {
        **{key: _first_names(names) for key, names in lists.items() if names},
        "last_report": max(agent["since"] for agent in agents),
        "files_behind": sum(agent["files_behind"] for agent in agents),
        **({"all_silent": True} if all_silent else {}),
        "members": agents,
    }


def _first_names(names: list[str]) -> list[str]:
    different = list(dict.fromkeys(names))
    rest = len(different) - _SHOWN
    return different[:_SHOWN] + ([f"{rest:,} more"] if rest > 0 else [])


_Event = tuple[float, str, str, dict[str, Any]]


def _opened_event(outage: dict[str, Any], values: dict[str, Any]) -> _Event:
    return outage["opened_at"], "opened", _silent_summary(outage), {"kind": values["kind"]}


def _notified_events(outage_id: int) -> Iterator[_Event]:
    query = sa.select(_notification).where(_notification.c.outage_id == outage_id)
    for row in op.get_bind().execute(query.order_by(_notification.c.id)).all():
        reason = "with others" if row.detail.get("summary") else row.reason
        detail = {"channel": row.channel, "reason": reason}
        if row.state == "delivered":
            yield row.delivered_at, "notified", f"{row.channel} ({reason})", detail
        elif row.state == "given_up":
            yield row.created_at, "undelivered", f"{row.channel} ({reason}): {row.error}", detail


def _to_outage(incident: dict[str, Any]) -> None:
    connection = op.get_bind()
    end, state = incident["end_step"], incident["state"]
    evidence = incident["evidence"]
    values = {
        "state": "open" if end is None else state,
        "opened_at": incident["opened_at"],
        "over_at": None if end is None else end / 1000,
        "alone": evidence.get("all_silent", False),
        "agents": evidence["members"],
    }
    number = connection.scalar(sa.insert(_outage).values(values).returning(_outage.c.id))
    mine = _notification.c.incident_id == incident["id"]
    connection.execute(sa.update(_notification).where(mine).values(incident_id=None, outage_id=number))
    connection.execute(sa.delete(_event).where(_event.c.incident_id == incident["id"]))
    connection.execute(sa.delete(_incident).where(_incident.c.id == incident["id"]))
