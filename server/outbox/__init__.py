"""The outbox: what is waiting to be told, when it is sent, and what became of it."""

from holter.server.outbox.outbox import Outbox, routes

__all__ = ["Outbox", "routes"]
