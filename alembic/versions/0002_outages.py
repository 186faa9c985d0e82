"""Agents that fell silent together, and notifications about them.

Revision ID: 0002
Revises: 0001
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
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
        batch_op.create_check_constraint(
            batch_op.f("ck_notification_about_one"), "(incident_id IS NULL) <> (outage_id IS NULL)"
        )
        batch_op.create_index(batch_op.f("ix_notification_outage_id"), ["outage_id"])


def downgrade() -> None:
    op.execute("DELETE FROM notification WHERE outage_id IS NOT NULL")
    with op.batch_alter_table("notification", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_notification_outage_id"))
        batch_op.drop_constraint(batch_op.f("ck_notification_about_one"), type_="check")
        batch_op.drop_constraint(batch_op.f("fk_notification_outage_id_outage"), type_="foreignkey")
        batch_op.drop_column("outage_id")
        batch_op.alter_column("incident_id", existing_type=_NUMBER, nullable=False)
    op.drop_table("outage")
