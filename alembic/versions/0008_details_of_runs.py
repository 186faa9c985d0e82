"""What trackers report about runs beside points: names, tags, notes, summaries, ends; requests to stop.

Revision ID: 0008
Revises: 0007
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "run_detail",
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("display_name", sa.String(length=500), nullable=True),
        sa.Column("notes", sa.Text(), nullable=True),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("group_name", sa.String(length=500), nullable=True),
        sa.Column("job_type", sa.String(length=500), nullable=True),
        sa.Column("parent_run", sa.String(length=500), nullable=True),
        sa.Column("summary", sa.Text(), nullable=True),
        sa.Column("reported_state", sa.String(length=20), nullable=True),
        sa.Column("exit_code", sa.Integer(), nullable=True),
        sa.Column("stop_requested_at", sa.Float(precision=53), nullable=True),
        sa.Column("stop_requested_by", sa.String(length=200), nullable=True),
        sa.Column("stop_reason", sa.Text(), nullable=True),
        sa.Column("stopped_at", sa.Float(precision=53), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_run_detail_run_id_run")),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_run_detail")),
    )
    op.create_table(
        "run_attribute",
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=300), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_run_attribute_run_id_run")),
        sa.PrimaryKeyConstraint("run_id", "name", name=op.f("pk_run_attribute")),
    )


def downgrade() -> None:
    op.drop_table("run_attribute")
    op.drop_table("run_detail")
