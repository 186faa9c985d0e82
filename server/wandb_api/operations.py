"""GraphQL operations by name. Clients ask a fixed set of questions, so that no GraphQL engine is needed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from holter.server.context import ServerContext

_OPERATION = re.compile(r"\b(?:query|mutation)\s+(\w+)")


class OperationError(Exception):
    """An operation fails; the message is shown to the user. `status` is that of the HTTP response."""

    def __init__(self, message: str, status: int = 200) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, kw_only=True)
class GraphqlCall:
    """One operation: its variables, who asks, and under which address the client reaches the server.

    `may_read`: whether the caller may read other runs; a job's key may not. `client`: which of several
    clients of a run in shared mode. `query` is the text of the operation.
    """

    context: ServerContext
    variables: Mapping[str, Any]
    query: str = ""
    user: str | None = None
    may_read: bool = False
    address: str = ""
    client: str = ""

    def text(self, *names: str) -> str | None:
        """The first of these variables that is a text."""
        values = (self.variables.get(name) for name in names)
        return next((value for value in values if isinstance(value, str)), None)

    def required(self, *names: str) -> str:
        """As `text`. Raises OperationError where there is none."""
        value = self.text(*names)
        if not value:
            raise OperationError(f"{names[0]}: expected a text")
        return value

    def require_read(self) -> None:
        """Raise OperationError unless the caller may read runs."""
        if not self.may_read:
            raise OperationError(
                "this key may only log: reading runs needs a token of the scope all "
                "(holter token create NAME --scope all)",
                status=403,
            )


Operation = Callable[[GraphqlCall], dict[str, Any]]


def operation_name(query: str, stated: object) -> str:
    """The name of an operation: as stated, or from its text as old clients do; empty if unknown."""
    if isinstance(stated, str) and stated:
        return stated
    match = _OPERATION.search(query)
    return match[1] if match else ""
