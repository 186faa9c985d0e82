"""schemathesis: all responses match the OpenAPI document."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed
from hypothesis import settings as examples
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance
from sqlalchemy.orm import Session

from holter.server import tokens
from holter.server.context import ServerContext
from holter.settings import Settings

pytestmark = pytest.mark.slow

Serve = Callable[[Settings], AbstractContextManager[tuple[ServerContext, str]]]
Api = tuple[schemathesis.BaseSchema, str, dict[str, str]]
PASSWORD = "correct horse"
ENDLESS = "/api/v1/stream"
NO_ROOM_IN_A_SCHEMA = {
    "/api/v1/ingest": "columns must have one length",
    "/api/v1/import": "a file of holter export is no schema",
    "/api/v1/session": "a password must be the right one",
    "/api/v1/runs/{run_id}/data": "labels is JSON inside a string",
    "/api/v1/runs/{run_id}/expected": "a plan needs a kind and a place, and its fields fit each other",
    "/api/v1/projects/{name}/expected": "the same",
    "/api/v1/runs": "a filter is a language of its own",
    "/api/v1/completions": "the same",
    "/api/v1/compare/curves": "a list of runs is one text",
    "/api/v1/compare/differences": "the same",
    "/api/v1/compare/statistics": "the same",
    "/api/v1/projects/{name}/report": "a week is a text such as 2026-W47",
    "/api/v1/views": "a name is used once, and a filter is a language",
    "/api/v1/views/{view_id}": "the same",
    "/api/v1/shares": "a path names a page",
    "/api/v1/slack/interactive": "a payload is JSON inside a form, and signed",
    "/api/v1/silences": "matchers are a language, and an end is given in one of two ways",
    "/api/v1/routing/trial": "settings are lines of TOML",
}


@pytest.fixture
def api(postgres_url: str, serve: Serve) -> Iterator[Api]:
    """The description of a server with one run, the run's id, and the header that opens the door."""
    settings = Settings(database_url=postgres_url, password=PASSWORD)  # type: ignore[arg-type]
    with serve(settings) as (context, address):
        token = _token(context)
        headers = {"Authorization": f"Bearer {token}"}
        body = {"project": "p", "run": "r", "columns": {"step": [1, 2], "loss": [1.0, "NaN"]}}
        run_id = httpx.post(f"{address}/api/v1/ingest", json=body, headers=headers, timeout=60).json()[
            "run_id"
        ]
        yield schemathesis.openapi.from_url(f"{address}/openapi.json", headers=headers), run_id, headers


def _token(context: ServerContext) -> str:
    with Session(context.engine) as session, session.begin():
        return tokens.create(session, "schemathesis", now=0.0, scope=tokens.TokenScope.ALL)


def try_out(operation: Any, mode: GenerationMode, ids: dict[str, str], headers: dict[str, str]) -> None:
    """Call one operation in many ways that fit its description, or do not; `ids` go where a path asks."""
    excluded = [positive_data_acceptance] if operation.path in NO_ROOM_IN_A_SCHEMA else []

    @seed(0)
    @examples(
        max_examples=12,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def check(case: schemathesis.Case) -> None:
        case.path_parameters = {**(case.path_parameters or {}), **ids}
        case.call_and_validate(headers=headers, excluded_checks=excluded, timeout=60)

    check()


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_all_responses_match_the_openapi_document(api: Api, mode: GenerationMode) -> None:
    schema, _, headers = api
    operations = [result.ok() for result in schema.get_all_operations()]
    assert len(operations) >= 28
    for operation in operations:
        accepts_anything = mode is GenerationMode.NEGATIVE and not (
            operation.body or operation.query or operation.path_parameters
        )
        if operation.path != ENDLESS and not accepts_anything:
            try_out(operation, mode, {}, headers)


def test_all_responses_about_an_existing_run_match_the_openapi_document(api: Api) -> None:
    schema, run_id, headers = api
    for result in schema.get_all_operations():
        operation = result.ok()
        if "{run_id}" in operation.path:
            try_out(operation, GenerationMode.POSITIVE, {"run_id": run_id}, headers)
