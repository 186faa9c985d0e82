"""Database access: engines, transactions, and classification of database errors."""

from holter.server.database.engine import PIPELINED, connect, is_missing, reading, without_password, writing
from holter.server.database.errors import is_conflict, is_damage, unavailable_reason
from holter.server.database.sqlite import WAL_BYTES

__all__ = [
    "PIPELINED",
    "WAL_BYTES",
    "connect",
    "is_conflict",
    "is_damage",
    "is_missing",
    "reading",
    "unavailable_reason",
    "without_password",
    "writing",
]
