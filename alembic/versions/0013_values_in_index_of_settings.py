"""Settings are found by name together with their values, on SQLite.

Revision ID: 0013
Revises: 0012
"""

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        op.drop_index("ix_config_name", table_name="config")
        op.create_index("ix_config_name_value", "config", ["name", "value"])


def downgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        op.drop_index("ix_config_name_value", table_name="config")
        op.create_index("ix_config_name", "config", ["name"])
