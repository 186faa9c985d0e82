"""How a run's launches are set up, and what is remarked on that."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from holter.server.api.responses import Answer, Problem
from holter.server.api.schemas.base import Severity, Shape
from holter.server.context import OfServer

ConfigValue = str | int | float | bool

router = APIRouter(tags=["runs"])
NOT_FOUND: dict[int | str, dict[str, Any]] = {404: {"model": Problem, "description": "There is no such run"}}


class StatedBy(Shape):
    """Of how many processes a value is, 0 where it is the whole job's, with the labels of the first few."""

    processes: int
    labels: list[dict[str, str]]


class StatedValue(StatedBy):
    """A value, and the attempts in which it was stated."""

    attempts: list[int]
    value: ConfigValue


class Setting(Shape):
    """A setting of a run by its name, with every value that it has or had."""

    name: str
    values: list[StatedValue]


class ChangedSetting(StatedBy):
    """A setting with another value than before; `before` is null where no earlier launch stated one."""

    name: str
    before: ConfigValue | None
    after: ConfigValue


class ChangedLaunch(Shape):
    """What an attempt was set up with otherwise than those before it: the first of `settings_count`."""

    attempt: int
    settings: list[ChangedSetting]
    settings_count: int


class RunConfig(Shape):
    """How a run's launches are set up, by what their logs state of `attempts`."""

    attempts: list[int]
    settings: list[Setting]
    settings_count: int
    changes: list[ChangedLaunch]


class RunRemark(Shape):
    """Something amiss with how a launch is set up, or with the numbers it reports."""

    code: str
    attempt: int
    labels: dict[str, str]
    severity: Severity
    summary: str
    advice: str
    evidence: dict[str, Any]


class Remarks(Shape):
    """What is remarked on a run, the gravest first."""

    remarks: list[RunRemark]


@router.get("/runs/{run_id}/config", responses={200: {"model": RunConfig}, **NOT_FOUND})
def config_of_run(run_id: str, parts: OfServer, q: str | None = None) -> Answer:
    """How each launch is set up, and what changed. `q`: part of a setting's name or value."""
    return Answer(parts.setup.config(parts.overview.run_id(run_id), q))


@router.get("/runs/{run_id}/remarks", responses={200: {"model": Remarks}, **NOT_FOUND})
def remarks_on_run(run_id: str, parts: OfServer) -> Answer:
    """What is to be said of how the launches are set up, and of the numbers they report."""
    internal, version = parts.overview.version(run_id)
    return Answer({"remarks": parts.setup.remarks(internal, version)})
