"""The web application: the REST interface, the pages, and what every request passes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import Depends, FastAPI, Security
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPBearer
from sqlalchemy.exc import DatabaseError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

import holter
from holter.server.agents import UnknownAgentError
from holter.server.alerting import UnknownIncidentError
from holter.server.api import (
    agents,
    charts,
    health,
    imports,
    incidents,
    ingest,
    launches,
    pages,
    planned_events,
    runs,
    session,
    stream,
)
from holter.server.api import responses as answers
from holter.server.api.middleware import SecurityMiddleware, reject_unknown_parameters
from holter.server.clock import Clock
from holter.server.context import ServerContext
from holter.server.planned_events import UnknownPlannedEventError
from holter.server.read_models.runs import UnknownRunError
from holter.server.schemas.service import FieldProblems, Problem
from holter.server.store import CorruptDataError
from holter.settings import Settings

API = "/api/v1"
_REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "The body is not what its headers say"},
    401: {"model": Problem, "description": "A login or a token is needed, or the token is not known"},
    403: {"model": Problem, "description": "Another site's page, or a name that is not this server's"},
    503: {"model": Problem, "description": "The store is busy or the database away: see Retry-After"},
    422: {"model": FieldProblems, "description": "The request does not fit, with a reason for each field"},
}
_NOUNS = (
    *(ingest, runs, charts, imports, incidents, planned_events, agents),
    *(launches, stream),
)
_NOT_THERE = (UnknownRunError, UnknownIncidentError, UnknownPlannedEventError, UnknownAgentError)
_KNOWN = Depends(reject_unknown_parameters)
_BEARER = Security(HTTPBearer(auto_error=False, description="holter token create NAME"))


def create_app(settings: Settings, *, clock: Clock | None = None) -> FastAPI:
    """The application over one database. Its lifespan starts and closes what works in the background."""
    return app_from_context(ServerContext(settings, clock=clock))


def app_from_context(context: ServerContext) -> FastAPI:
    """The application over parts that are made, started or not. It closes them at its end."""
    app = FastAPI(
        title="Holter",
        version=holter.__version__,
        description="Points in, charts and incidents out. Times are Unix seconds.",
        lifespan=_lifetime,
        redirect_slashes=False,
        docs_url=None,
        redoc_url=None,
    )
    app.state.context = context
    _answer_requests(app)
    _answer_errors(app)
    app.add_middleware(ingest.IngestMiddleware, context=context)
    app.add_middleware(SecurityMiddleware, access=context.authenticator)  # the last one added comes first
    return app


@asynccontextmanager
async def _lifetime(app: FastAPI) -> AsyncIterator[None]:
    context: ServerContext = app.state.context
    if not context.started:
        await run_in_threadpool(context.start)
    context.live.start()
    try:
        yield
    finally:
        context.live.close()
        await run_in_threadpool(context.close)


def _answer_requests(app: FastAPI) -> None:
    for noun in _NOUNS:
        app.include_router(noun.router, prefix=API, responses=_REFUSALS, dependencies=[_KNOWN, _BEARER])
    app.include_router(session.router, prefix=API, responses=_REFUSALS, dependencies=[_KNOWN])
    app.include_router(health.router)
    app.include_router(pages.router)


def _answer_errors(app: FastAPI) -> None:
    app.add_exception_handler(HTTPException, pages.on_http_error)
    app.add_exception_handler(RequestValidationError, answers.on_invalid_request)
    for unknown in _NOT_THERE:
        app.add_exception_handler(unknown, answers.on_not_found)
    for away in answers.DATABASE_UNAVAILABLE:
        app.add_exception_handler(away, answers.on_database_unavailable)
    app.add_exception_handler(DatabaseError, answers.on_database_error)
    app.add_exception_handler(CorruptDataError, answers.on_corrupt_data)
    app.add_exception_handler(Exception, answers.on_unexpected_error)
