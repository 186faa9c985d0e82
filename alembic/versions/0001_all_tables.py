"""All tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "agent",
        sa.Column("agent", sa.String(length=200), nullable=False),
        sa.Column("seen_at", sa.Float(precision=53), nullable=False),
        sa.Column("report", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("agent", name=op.f("pk_agent")),
    )
    with op.batch_alter_table("agent", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_agent_seen_at"), ["seen_at"], unique=False)

    op.create_table(
        "project",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_project")),
        sa.UniqueConstraint("name", name=op.f("uq_project_name")),
    )
    op.create_table(
        "source_cursor",
        sa.Column("source", sa.String(length=1000), nullable=False),
        sa.Column("format", sa.String(length=50), nullable=False),
        sa.Column("offset", sa.BigInteger(), nullable=False),
        sa.Column("identity", sa.String(length=200), nullable=False),
        sa.Column("state", sa.JSON(), nullable=False),
        sa.Column("updated_at", sa.Float(precision=53), nullable=False),
        sa.PrimaryKeyConstraint("source", name=op.f("pk_source_cursor")),
    )
    op.create_table(
        "token",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.Column("last_used_at", sa.Float(precision=53), nullable=True),
        sa.Column("revoked_at", sa.Float(precision=53), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_token")),
        sa.UniqueConstraint("digest", name=op.f("uq_token_digest")),
        sa.UniqueConstraint("name", name=op.f("uq_token_name")),
    )
    op.create_table(
        "run",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("public_id", sa.String(length=16), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=500), nullable=False),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.Column("updated_at", sa.Float(precision=53), nullable=False),
        sa.Column("finished_at", sa.Float(precision=53), nullable=True),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("stated", sa.BigInteger(), nullable=False),
        sa.Column("attempt_state", sa.JSON(), nullable=False),
        sa.Column("deleted_at", sa.Float(precision=53), nullable=True),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_run_project_id_project")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run")),
        sa.UniqueConstraint("project_id", "name", name=op.f("uq_run_project_id")),
        sa.UniqueConstraint("public_id", name=op.f("uq_run_public_id")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("run", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_run_project_id"), ["project_id"], unique=False)

    op.create_table(
        "accepted_batch",
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("digest", sa.LargeBinary(length=16), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_accepted_batch_run_id_run")),
        sa.PrimaryKeyConstraint("run_id", "digest", name=op.f("pk_accepted_batch")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "analysis",
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("seen_at", sa.Float(precision=53), nullable=False),
        sa.Column("looked_at", sa.Float(precision=53), nullable=False),
        sa.Column("cost", sa.Float(precision=53), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_analysis_run_id_run")),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_analysis")),
    )
    op.create_table(
        "attempt",
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=True),
        sa.Column("first_step", sa.BigInteger(), nullable=False),
        sa.Column("last_step", sa.BigInteger(), nullable=False),
        sa.Column("first_time", sa.Float(precision=53), nullable=True),
        sa.Column("last_time", sa.Float(precision=53), nullable=True),
        sa.Column("points", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_attempt_run_id_run")),
        sa.PrimaryKeyConstraint("run_id", "number", name=op.f("pk_attempt")),
    )
    op.create_table(
        "expected_event",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=True),
        sa.Column("said", sa.JSON(), nullable=False),
        sa.Column("added_at", sa.Float(precision=53), nullable=False),
        sa.Column("added_by", sa.String(length=200), nullable=True),
        sa.ForeignKeyConstraint(
            ["project_id"],
            ["project.id"],
            name=op.f("fk_expected_event_project_id_project"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_expected_event_run_id_run"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_expected_event")),
    )
    with op.batch_alter_table("expected_event", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_expected_event_project_id"), ["project_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_expected_event_run_id"), ["run_id"], unique=False)

    op.create_table(
        "incident",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("metric", sa.String(length=500), nullable=False),
        sa.Column("labels", sa.JSON(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("start_step", sa.BigInteger(), nullable=False),
        sa.Column("start_time", sa.Float(precision=53), nullable=True),
        sa.Column("peak_step", sa.BigInteger(), nullable=True),
        sa.Column("end_step", sa.BigInteger(), nullable=True),
        sa.Column("detected_step", sa.BigInteger(), nullable=False),
        sa.Column("classified_step", sa.BigInteger(), nullable=True),
        sa.Column("severity", sa.String(length=10), nullable=False),
        sa.Column("confidence", sa.Float(precision=53), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("advice", sa.Text(), nullable=False),
        sa.Column("evidence", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("opened_at", sa.Float(precision=53), nullable=False),
        sa.Column("updated_at", sa.Float(precision=53), nullable=False),
        sa.Column("recovered_at", sa.Float(precision=53), nullable=True),
        sa.Column("closed_at", sa.Float(precision=53), nullable=True),
        sa.Column("acknowledged_at", sa.Float(precision=53), nullable=True),
        sa.Column("acknowledged_by", sa.String(length=200), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_incident_run_id_run")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_incident")),
        sa.UniqueConstraint("run_id", "fingerprint", name=op.f("uq_incident_run_id")),
    )
    with op.batch_alter_table("incident", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_incident_opened_at"), ["opened_at"], unique=False)
        batch_op.create_index(batch_op.f("ix_incident_run_id"), ["run_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_incident_state"), ["state"], unique=False)

    op.create_table(
        "log",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("step_min", sa.BigInteger(), nullable=False),
        sa.Column("step_max", sa.BigInteger(), nullable=False),
        sa.Column("points", sa.Integer(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_log_run_id_run")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_log")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("log", schema=None) as batch_op:
        batch_op.create_index("ix_log_place", ["run_id", "id"], unique=False)

    op.create_table(
        "series",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("metric", sa.String(length=500), nullable=False),
        sa.Column("labels", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_series_run_id_run")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_series")),
        sa.UniqueConstraint("run_id", "metric", "labels", name=op.f("uq_series_run_id")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "summary",
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("entry", sa.BigInteger(), nullable=False),
        sa.Column("chunks", sa.LargeBinary(), nullable=False),
        sa.Column("log", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_summary_run_id_run")),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_summary")),
    )
    op.create_table(
        "thinning",
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("whole_from", sa.BigInteger(), nullable=False),
        sa.Column("last_step", sa.BigInteger(), nullable=False),
        sa.Column("begun_at", sa.Float(precision=53), nullable=False),
        sa.Column("done_at", sa.Float(precision=53), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_thinning_run_id_run")),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_thinning")),
    )
    op.create_table(
        "timeline",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("digest", sa.LargeBinary(length=16), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_timeline_run_id_run")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_timeline")),
        sa.UniqueConstraint("run_id", "digest", name=op.f("uq_timeline_run_id")),
    )
    op.create_table(
        "unreadable",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=True),
        sa.Column("source", sa.String(length=1000), nullable=False),
        sa.Column("place", sa.String(length=200), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("seen_at", sa.Float(precision=53), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_unreadable_run_id_run")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_unreadable")),
    )
    with op.batch_alter_table("unreadable", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_unreadable_run_id"), ["run_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_unreadable_source"), ["source"], unique=False)

    op.create_table(
        "writer",
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=1000), nullable=False),
        sa.Column("stated", sa.Boolean(), nullable=False),
        sa.Column("state", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_writer_run_id_run")),
        sa.PrimaryKeyConstraint("run_id", "name", name=op.f("pk_writer")),
    )
    op.create_table(
        "config",
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("labels", sa.String(length=400), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_config_run_id_run")),
        sa.PrimaryKeyConstraint("run_id", "attempt", "name", "labels", name=op.f("pk_config")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "chunk",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("series_id", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("step_min", sa.BigInteger(), nullable=False),
        sa.Column("step_max", sa.BigInteger(), nullable=False),
        sa.Column("points", sa.Integer(), nullable=False),
        sa.Column("logged", sa.Integer(), nullable=False),
        sa.Column("nonfinite", sa.Integer(), nullable=False),
        sa.Column("value_min", sa.Float(precision=53), nullable=True),
        sa.Column("value_max", sa.Float(precision=53), nullable=True),
        sa.Column("timeline_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("pyramid", sa.LargeBinary(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["series_id"], ["series.id"], name=op.f("fk_chunk_series_id_series")),
        sa.ForeignKeyConstraint(["timeline_id"], ["timeline.id"], name=op.f("fk_chunk_timeline_id_timeline")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_chunk")),
    )
    with op.batch_alter_table("chunk", schema=None) as batch_op:
        batch_op.create_index("ix_chunk_series_place", ["series_id", "attempt", "step_min"], unique=False)
        batch_op.create_index(batch_op.f("ix_chunk_timeline_id"), ["timeline_id"], unique=False)

    op.create_table(
        "incident_event",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("incident_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("at", sa.Float(precision=53), nullable=False),
        sa.Column("type", sa.String(length=20), nullable=False),
        sa.Column("by", sa.String(length=200), nullable=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["incident_id"], ["incident.id"], name=op.f("fk_incident_event_incident_id_incident")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_incident_event")),
    )
    with op.batch_alter_table("incident_event", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_incident_event_incident_id"), ["incident_id"], unique=False)

    op.create_table(
        "notification",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("incident_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("channel", sa.String(length=100), nullable=False),
        sa.Column("key", sa.String(length=100), nullable=False),
        sa.Column("reason", sa.String(length=40), nullable=False),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_try_at", sa.Float(precision=53), nullable=False),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.Column("delivered_at", sa.Float(precision=53), nullable=True),
        sa.Column("thread", sa.String(length=500), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["incident_id"], ["incident.id"], name=op.f("fk_notification_incident_id_incident")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notification")),
        sa.UniqueConstraint("key", name=op.f("uq_notification_key")),
    )
    with op.batch_alter_table("notification", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_notification_incident_id"), ["incident_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_notification_state"), ["state"], unique=False)

    if op.get_bind().dialect.name == "postgresql":
        for blob in (
            "log ALTER payload",
            "timeline ALTER payload",
            "chunk ALTER pyramid",
            "chunk ALTER payload",
            "summary ALTER chunks",
            "summary ALTER log",
        ):
            # compressed already: PostgreSQL need not try again
            op.execute(f"ALTER TABLE {blob} SET STORAGE EXTERNAL")


def downgrade() -> None:
    with op.batch_alter_table("notification", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_notification_state"))
        batch_op.drop_index(batch_op.f("ix_notification_incident_id"))

    op.drop_table("notification")
    with op.batch_alter_table("incident_event", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_incident_event_incident_id"))

    op.drop_table("incident_event")
    with op.batch_alter_table("chunk", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_chunk_timeline_id"))
        batch_op.drop_index("ix_chunk_series_place")

    op.drop_table("chunk")
    op.drop_table("config")
    op.drop_table("writer")
    with op.batch_alter_table("unreadable", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_unreadable_source"))
        batch_op.drop_index(batch_op.f("ix_unreadable_run_id"))

    op.drop_table("unreadable")
    op.drop_table("timeline")
    op.drop_table("thinning")
    op.drop_table("summary")
    op.drop_table("series")
    with op.batch_alter_table("log", schema=None) as batch_op:
        batch_op.drop_index("ix_log_place")

    op.drop_table("log")
    with op.batch_alter_table("expected_event", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_expected_event_run_id"))
        batch_op.drop_index(batch_op.f("ix_expected_event_project_id"))

    op.drop_table("expected_event")
    with op.batch_alter_table("incident", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_incident_state"))
        batch_op.drop_index(batch_op.f("ix_incident_run_id"))
        batch_op.drop_index(batch_op.f("ix_incident_opened_at"))

    op.drop_table("incident")
    op.drop_table("attempt")
    op.drop_table("analysis")
    op.drop_table("accepted_batch")
    with op.batch_alter_table("run", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_run_project_id"))

    op.drop_table("run")
    op.drop_table("token")
    op.drop_table("source_cursor")
    op.drop_table("project")
    with op.batch_alter_table("agent", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_agent_seen_at"))

    op.drop_table("agent")
