"""Scopes of access tokens. Tokens that exist already have none, which means that they may do everything.

Going back revokes tokens with a limited scope: earlier versions would let them do everything.

Revision ID: 0007
Revises: 0006
"""

import time

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_token = sa.table("token", sa.column("scope", sa.String()), sa.column("revoked_at", sa.Float(precision=53)))


def upgrade() -> None:
    op.add_column("token", sa.Column("scope", sa.String(length=10), nullable=True))


def downgrade() -> None:
    limited = (_token.c.scope != "all") & _token.c.revoked_at.is_(None)
    op.get_bind().execute(sa.update(_token).where(limited).values(revoked_at=time.time()))
    with op.batch_alter_table("token", schema=None) as batch_op:
        batch_op.drop_column("scope")
