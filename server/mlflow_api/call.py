"""One call of the interface: its parameters, typed access to them, and errors in MLflow's form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from holter.server.context import ServerContext
from holter.server.store.keys import storable_text

INVALID = "INVALID_PARAMETER_VALUE"
MISSING = "RESOURCE_DOES_NOT_EXIST"
EXISTS = "RESOURCE_ALREADY_EXISTS"
DENIED = "PERMISSION_DENIED"
_STATUS = {INVALID: 400, EXISTS: 400, DENIED: 403, MISSING: 404, "ENDPOINT_NOT_FOUND": 404}


class MlflowError(Exception):
    """A call cannot be answered; clients raise it in the user's code with this code and message."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.status = _STATUS[code]


@dataclass(frozen=True, kw_only=True, slots=True)
class MlflowCall:
    """A call with the parameters of its body or its address.

    `path`: the parts of the address that stand for names; `user`: the sender, None if unknown; `may_read`:
    whether the sender may read what runs have logged.
    """

    context: ServerContext
    parameters: Mapping[str, Any]
    path: tuple[str, ...] = ()
    user: str | None = None
    may_read: bool = True
    repeated: Mapping[str, list[str]] = field(default_factory=dict)

    def text(self, *names: str) -> str:
        """The first of these parameters that is a text with content, empty without any."""
        for name in names:
            value = self.parameters.get(name)
            if isinstance(value, str) and value:
                return storable_text(value)
        return ""

    def required(self, *names: str) -> str:
        """The same. Raises MlflowError without any."""
        if value := self.text(*names):
            return value
        raise MlflowError(INVALID, f"missing value for required parameter {names[0]!r}: expected a text")

    def integer(self, name: str, default: int, *, least: int = 0, most: int = 2**62) -> int:
        """A whole number, also as text. Raises MlflowError for anything else."""
        value = self.parameters.get(name, default)
        try:
            number = int(value) if isinstance(value, int | str) and not isinstance(value, bool) else None
        except ValueError:
            number = None
        if number is None or not least <= number <= most:
            raise MlflowError(
                INVALID, f"invalid value {str(value)[:40]!r} for {name!r}: expected {least} to {most}"
            )
        return number

    def objects(self, name: str, limit: int) -> list[Mapping[str, Any]]:
        """A list of JSON objects, empty where it is left out. Raises MlflowError for anything else."""
        value = self.parameters.get(name) or []
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise MlflowError(INVALID, f"invalid value for {name!r}: expected a list of objects")
        if len(value) > limit:
            raise MlflowError(INVALID, f"{len(value)} {name}: expected at most {limit} in a request")
        return value

    def texts(self, name: str) -> list[str]:
        """A list of texts: of the body, or of a parameter that the address repeats."""
        if name in self.repeated:
            return self.repeated[name]
        value = self.parameters.get(name) or []
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise MlflowError(INVALID, f"invalid value for {name!r}: expected a list of texts")
        return value

    def check_readable(self) -> None:
        """Raise MlflowError unless the sender may read what runs have logged."""
        if not self.may_read:
            raise MlflowError(DENIED, "this token may only log: reading needs a token with --scope all")


Handler = Callable[[MlflowCall], dict[str, Any]]
