"""What every answer is: an object with exactly the fields it names, numbers as strict JSON has them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

Number = float | Literal["NaN", "Infinity", "-Infinity"]


Severity = Literal["info", "warning", "critical"]


class Shape(BaseModel):
    """An object with exactly the fields it names."""

    model_config = ConfigDict(extra="forbid")


class SeriesName(Shape):
    """One series of a run. Labels are strings."""

    metric: str
    labels: dict[str, str]
