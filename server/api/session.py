"""Routes about the browser session: its state, login and logout."""

from __future__ import annotations

from functools import cache

import msgspec
from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from holter.detectors.findings import catalogue_as_json
from holter.server.api.error_docs import problem_docs
from holter.server.api.responses import ApiResponse, error_response, set_secret_cookie
from holter.server.auth import COOKIE, SESSION_SECONDS, TokenScopeError, TooManyLoginsError
from holter.server.context import Context, ServerContext
from holter.server.schemas.findings import FindingsCatalogue
from holter.server.schemas.service import SessionState
from holter.server.share_links import ActiveShare

router = APIRouter(tags=["session"])


class LoginRequest(BaseModel):
    """The password, or an access token instead."""

    model_config = ConfigDict(extra="forbid")
    password: str = Field(min_length=1, max_length=1000)


@router.get("/session", responses={200: {"model": SessionState}})
def session(context: Context, request: Request) -> ApiResponse:
    """Whether the server requires a login, and who is logged in."""
    user = context.authenticator.user(request.headers)
    share = None if user is not None else context.authenticator.share(request.headers)
    return ApiResponse(_state(context, user, share))


@router.post(
    "/session",
    responses={
        200: {"model": SessionState},
        401: problem_docs("Neither the password nor a token"),
        403: problem_docs("A token whose scope is not `all`, or another site's page"),
        429: problem_docs("Too many failed logins: wait for Retry-After seconds"),
    },
)
def log_in(context: Context, request: Request, body: LoginRequest) -> ApiResponse:
    """Log in for 30 days, with a cookie that scripts cannot read."""
    client = request.client.host if request.client else "unknown"
    try:
        cookie = context.authenticator.log_in(client, body.password)
    except TooManyLoginsError as error:
        return error_response(429, str(error), {"Retry-After": str(error.seconds)})
    except TokenScopeError as error:
        return error_response(403, str(error))
    if cookie is None:
        return error_response(401, "this is neither the password nor an access token")
    response = ApiResponse(_state(context, context.authenticator.user({"cookie": f"{COOKIE}={cookie}"})))
    set_secret_cookie(
        response, COOKIE, cookie, seconds=SESSION_SECONDS, secure=context.authenticator.secure_cookie
    )
    return response


@router.delete("/session", responses={200: {"model": SessionState}})
def log_out(context: Context, request: Request) -> ApiResponse:
    """Log this browser out: its session ends on the server."""
    context.authenticator.end_session(request.headers)
    response = ApiResponse(_state(context, None))
    response.delete_cookie(COOKIE, httponly=True, samesite="lax", secure=context.authenticator.secure_cookie)
    return response


def _state(context: ServerContext, user: str | None, share: ActiveShare | None = None) -> SessionState:
    required = context.authenticator.login_required
    return {
        "login_required": required,
        "logged_in": user is not None or share is not None or not required,
        "user": user,
        "shared_path": share.path if share is not None and required else None,
        "findings": _catalogue(),
    }


@cache
def _catalogue() -> FindingsCatalogue:
    return msgspec.convert(catalogue_as_json(), FindingsCatalogue)
