"""The ASGI application: REST routes, pages, middleware and error handlers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Depends, FastAPI, Security
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPBearer
from sqlalchemy.exc import DatabaseError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute

import holter
from holter.server.agents import UnknownAgentError
from holter.server.alerting import UnknownIncidentError
from holter.server.alerting.silences import UnknownSilenceError
from holter.server.api import (
    agents,
    charts,
    client_status,
    compare,
    health,
    imports,
    incidents,
    ingest,
    launches,
    notifications,
    pages,
    planned_events,
    references,
    reports,
    responses,
    routing,
    run_search,
    runs,
    server_settings,
    session,
    shares,
    silences,
    slack,
    stream,
)
from holter.server.api.error_docs import DocumentedApp, field_problems_docs, problem_docs
from holter.server.api.middleware import SecurityMiddleware, reject_unknown_parameters
from holter.server.api.request_limits import BodyLimitMiddleware, body_limits, tracker_limits
from holter.server.clock import Clock
from holter.server.context import ServerContext
from holter.server.machine_metrics import routes as machine_metrics_routes
from holter.server.mlflow_api import routes as mlflow_routes
from holter.server.planned_events import UnknownPlannedEventError
from holter.server.read_models.runs import UnknownRunError
from holter.server.saved_views import UnknownViewError
from holter.server.share_links import UnknownShareLinkError
from holter.server.store import CorruptDataError, StoreClosedError
from holter.server.trackio_api import routes as trackio_routes
from holter.server.wandb_api import routes as wandb_routes
from holter.settings import Settings

API = "/api/v1"
_ERROR_RESPONSES: responses.ResponseDocs = {
    400: problem_docs("The body does not match its headers"),
    401: problem_docs("A login or a token is required, or the token is unknown"),
    403: problem_docs(
        "The token's scope does not include this, or another site's page sent the request, "
        "or it names another host"
    ),
    413: problem_docs("The body is larger than max_body_kb allows"),
    503: problem_docs("The store is busy or the database unavailable: see Retry-After"),
    422: field_problems_docs("The request is invalid, with a reason for each field"),
}
_ROUTE_MODULES = (
    ingest,
    run_search,
    shares,
    runs,
    client_status,
    charts,
    compare,
    references,
    imports,
    incidents,
    planned_events,
    reports,
    routing,
    notifications,
    silences,
    agents,
    launches,
    server_settings,
    stream,
)
_NOT_FOUND_ERRORS = (
    UnknownRunError,
    UnknownIncidentError,
    UnknownPlannedEventError,
    UnknownAgentError,
    UnknownViewError,
    UnknownShareLinkError,
    UnknownSilenceError,
)
_KNOWN_PARAMETERS = Depends(reject_unknown_parameters)
_BEARER = Security(HTTPBearer(auto_error=False, description="holter token create NAME"))


def create_app(settings: Settings, *, clock: Clock | None = None) -> FastAPI:
    """The application of new services. Its lifespan starts and stops them."""
    return app_from_context(ServerContext(settings, clock=clock))


def app_from_context(context: ServerContext) -> FastAPI:
    """The application of existing services, started or not. Its lifespan stops them at the end."""
    app = DocumentedApp(
        title="Holter",
        version=holter.__version__,
        description="Stores points of training runs; returns charts and incidents. Times are Unix seconds.",
        lifespan=_lifetime,
        # FastAPI would look for OpenTelemetry's providers with each request
        telemetry={"tracing": False, "metrics": False, "logs": False},
        redirect_slashes=False,
        docs_url=None,
        redoc_url=None,
        routes=_routes(),
    )
    app.state.context = context
    _add_error_handlers(app)
    app.add_middleware(ingest.IngestMiddleware, context=context)
    app.add_middleware(
        SecurityMiddleware,
        authenticator=context.authenticator,
        on_read=context.analysis.reader_arrived,
    )
    settings = context.settings
    app.add_middleware(  # added last, runs first
        BodyLimitMiddleware,
        limits=body_limits(settings),
        default=settings.http.max_body_kb * 1024,
        patterns=tracker_limits(settings),
    )
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
        # not in the pool of threads for requests, all of which may be computing
        await to_thread.run_sync(context.close, limiter=CapacityLimiter(1))


def prepare_routes(app: FastAPI) -> None:
    """Do now what FastAPI would do before it answers the first request, which takes 0.2 s."""
    scope = {"type": "http", "method": "GET", "path": "", "root_path": "", "headers": [], "app": app}
    for route in app.routes:
        route.matches(scope)


@cache
def _routes() -> list[BaseRoute]:
    """All routes; they belong to no context, so that they are prepared once."""
    router = APIRouter()
    for module in _ROUTE_MODULES:
        router.include_router(
            module.router, prefix=API, responses=_ERROR_RESPONSES, dependencies=[_KNOWN_PARAMETERS, _BEARER]
        )
    for module in (session, slack):  # without a token
        router.include_router(
            module.router, prefix=API, responses=_ERROR_RESPONSES, dependencies=[_KNOWN_PARAMETERS]
        )
    router.include_router(wandb_routes.router)
    router.include_router(mlflow_routes.router)
    router.include_router(trackio_routes.router)
    router.include_router(machine_metrics_routes.router)
    router.include_router(health.router)
    router.include_router(shares.pages)
    router.include_router(pages.router)
    return router.routes


def _add_error_handlers(app: FastAPI) -> None:
    app.add_exception_handler(HTTPException, pages.on_http_error)
    app.add_exception_handler(RequestValidationError, responses.on_invalid_request)
    for unknown in _NOT_FOUND_ERRORS:
        app.add_exception_handler(unknown, responses.on_not_found)
    for unavailable in responses.DATABASE_UNAVAILABLE:
        app.add_exception_handler(unavailable, responses.on_database_unavailable)
    app.add_exception_handler(StoreClosedError, responses.on_stopping)
    app.add_exception_handler(DatabaseError, responses.on_database_error)
    app.add_exception_handler(CorruptDataError, responses.on_corrupt_data)
    app.add_exception_handler(Exception, responses.on_unexpected_error)
