"""A store that is at work for as long as a test needs it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Engine

from holter.server.store import Store


@contextmanager
def running(engine: Engine) -> Iterator[Store]:
    """A store that is started, and closed whatever happens."""
    store = Store(engine)
    store.start()
    try:
        yield store
    finally:
        store.close()
