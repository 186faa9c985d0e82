"""Sessions that ended before they expired, because somebody logged out.

Revision ID: 0006
Revises: 0005
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "ended_session",
        sa.Column("session_id", sa.String(length=40), nullable=False),
        sa.Column("expires_at", sa.Float(precision=53), nullable=False),
        sa.PrimaryKeyConstraint("session_id", name=op.f("pk_ended_session")),
    )


def downgrade() -> None:
    op.drop_table("ended_session")
