"""How far detection had come when the old part of a run was downsampled.

Revision ID: 0004
Revises: 0003
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("thinning", sa.Column("seen_attempt", sa.Integer(), nullable=True))
    op.add_column("thinning", sa.Column("seen_step", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("thinning", schema=None) as batch_op:
        batch_op.drop_column("seen_step")
        batch_op.drop_column("seen_attempt")
