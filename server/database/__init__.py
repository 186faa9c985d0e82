"""The database: opening it, transactions on it, its errors in words."""

from holter.server.database.engine import UNANSWERED, connect, is_missing, reading, writing
from holter.server.database.errors import is_damage, was_in_the_way, why_away
from holter.server.database.sqlite import WAL_BYTES

__all__ = [
    "UNANSWERED",
    "WAL_BYTES",
    "connect",
    "is_damage",
    "is_missing",
    "reading",
    "was_in_the_way",
    "why_away",
    "writing",
]
