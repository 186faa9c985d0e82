"""Probable causes of incidents. Incidents that exist already have none until their run is analysed again.

Revision ID: 0009
Revises: 0008
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("incident", sa.Column("causes", sa.JSON(), nullable=True))


def downgrade() -> None:
    op.drop_column("incident", "causes")  # not in batch mode: other tables refer to this one
