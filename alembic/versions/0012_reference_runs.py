"""Runs that are pinned as references of their project, and how each run is doing beside them.

Revision ID: 0012
Revises: 0011
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "run_reference",
        sa.Column("run_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("pinned_at", sa.Float(precision=53), nullable=True),
        sa.Column("pinned_by", sa.String(length=200), nullable=True),
        sa.Column("checks", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_run_reference_run_id_run")),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_run_reference")),
    )


def downgrade() -> None:
    op.drop_table("run_reference")
