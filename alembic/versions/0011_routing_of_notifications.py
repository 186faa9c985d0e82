"""Groups of notifications, messages that are about no incident, decisions about notifications, silences.

Revision ID: 0011
Revises: 0010
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    with op.batch_alter_table("notification", schema=None) as batch_op:
        batch_op.alter_column("incident_id", existing_type=_NUMBER, nullable=True)
        batch_op.add_column(sa.Column("receiver", sa.String(length=100), nullable=True))
        batch_op.add_column(sa.Column("group_key", sa.String(length=100), nullable=True))
        batch_op.create_index(batch_op.f("ix_notification_group_key"), ["group_key"])
    op.create_table(
        "notification_decision",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("incident_id", _NUMBER, nullable=False),
        sa.Column("at", sa.Float(precision=53), nullable=False),
        sa.Column("channel", sa.String(length=100), nullable=False),
        sa.Column("receiver", sa.String(length=100), nullable=False),
        sa.Column("outcome", sa.String(length=20), nullable=False),
        sa.Column("reason", sa.String(length=40), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["incident_id"], ["incident.id"], name=op.f("fk_notification_decision_incident_id_incident")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notification_decision")),
    )
    op.create_index(op.f("ix_notification_decision_incident_id"), "notification_decision", ["incident_id"])
    op.create_table(
        "silence",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("matchers", sa.JSON(), nullable=False),
        sa.Column("comment", sa.Text(), nullable=False),
        sa.Column("created_by", sa.String(length=200), nullable=False),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.Column("starts_at", sa.Float(precision=53), nullable=False),
        sa.Column("ends_at", sa.Float(precision=53), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_silence")),
    )
    op.create_index(op.f("ix_silence_ends_at"), "silence", ["ends_at"])


def downgrade() -> None:
    op.drop_table("silence")
    op.drop_table("notification_decision")
    op.execute("DELETE FROM notification WHERE incident_id IS NULL")
    with op.batch_alter_table("notification", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_notification_group_key"))
        batch_op.drop_column("group_key")
        batch_op.drop_column("receiver")
        batch_op.alter_column("incident_id", existing_type=_NUMBER, nullable=False)
