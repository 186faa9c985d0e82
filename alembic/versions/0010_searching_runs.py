"""Stars of runs, saved views, share links, and indexes with which many runs are searched.

Revision ID: 0010
Revises: 0009
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("run_detail", sa.Column("starred", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("run_detail", sa.Column("revision", sa.BigInteger(), nullable=False, server_default="0"))
    op.create_index("ix_config_name", "config", ["name"])
    op.create_index("ix_incident_version", "incident", ["run_id", "updated_at"])
    op.create_table(
        "saved_view",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("project", sa.String(length=200), nullable=False),
        sa.Column("query", sa.JSON(), nullable=False),
        sa.Column("is_default", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.Column("created_by", sa.String(length=200), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_saved_view")),
        sa.UniqueConstraint("name", name=op.f("uq_saved_view_name")),
    )
    op.create_table(
        "share_link",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.Column("created_by", sa.String(length=200), nullable=True),
        sa.Column("expires_at", sa.Float(precision=53), nullable=False),
        sa.Column("revoked_at", sa.Float(precision=53), nullable=True),
        sa.Column("last_used_at", sa.Float(precision=53), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_share_link")),
        sa.UniqueConstraint("digest", name=op.f("uq_share_link_digest")),
    )


def downgrade() -> None:
    op.drop_table("share_link")
    op.drop_table("saved_view")
    op.drop_index("ix_incident_version", table_name="incident")
    op.drop_index("ix_config_name", table_name="config")
    op.drop_column("run_detail", "revision")
    op.drop_column("run_detail", "starred")
