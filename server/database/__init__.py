"""The database: opening it, transactions on it, its errors in words."""

from holter.server.database.away import is_damage, was_in_the_way, why_away
from holter.server.database.engine import connect, is_missing
from holter.server.database.sqlite import WAL_BYTES
from holter.server.database.transactions import UNANSWERED, reading, writing

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
