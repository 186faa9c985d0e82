"""What all types of the REST interface are made of: objects without further keys, and JSON's numbers."""

from __future__ import annotations

from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict

from holter.json_values import NonfiniteText

JsonNumber = float | NonfiniteText
"""The value of a point."""


# a TypedDict and no pydantic model: answers are plain dicts that mypy checks, and cost nothing to build
@with_config(ConfigDict(extra="forbid"))
class ApiObject(TypedDict):
    """A JSON object with exactly the keys that it declares."""


class SeriesName(ApiObject):
    """The name of a series: its metric and its labels."""

    metric: str
    labels: dict[str, str]
