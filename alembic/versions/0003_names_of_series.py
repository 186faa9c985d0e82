"""Series names in the summary of a run.

Revision ID: 0003
Revises: 0002
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("summary", sa.Column("names", sa.LargeBinary(), nullable=True))
    if op.get_bind().dialect.name == "postgresql":
        # compressed already: PostgreSQL need not try again
        op.execute("ALTER TABLE summary ALTER names SET STORAGE EXTERNAL")


def downgrade() -> None:
    with op.batch_alter_table("summary", schema=None) as batch_op:
        batch_op.drop_column("names")
