"""The session of a person's browser: who is logged in, logging in and out."""

from __future__ import annotations

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from holter.server.api.responses import ApiResponse, error_response
from holter.server.auth import COOKIE, SESSION_SECONDS
from holter.server.context import Context, ServerContext
from holter.server.schemas.service import Problem, SessionState

router = APIRouter(tags=["session"])


class Login(BaseModel):
    """The password, or an access token in its place."""

    model_config = ConfigDict(extra="forbid")
    password: str = Field(min_length=1, max_length=1000)


@router.get("/session", responses={200: {"model": SessionState}})
def session(context: Context, request: Request) -> ApiResponse:
    """Whether a login is needed here, and who is logged in."""
    return ApiResponse(_state(context, context.authenticator.user(request.headers)))


@router.post(
    "/session",
    responses={
        200: {"model": SessionState},
        401: {"model": Problem, "description": "Neither the password nor a token"},
        429: {"model": Problem, "description": "Too many failed logins: wait for Retry-After seconds"},
    },
)
def log_in(context: Context, request: Request, body: Login) -> ApiResponse:
    """Log a browser in for 30 days, by a cookie that scripts cannot read."""
    client = request.client.host if request.client else "unknown"
    if wait := context.authenticator.wait_before_login(client):
        reason = f"too many failed logins: try again in {wait} s"
        return error_response(429, reason, {"Retry-After": str(wait)})
    cookie = context.authenticator.log_in(body.password)
    if cookie is None:
        context.authenticator.login_failed(client)
        return error_response(401, "this is neither the password nor an access token")
    answer = ApiResponse(_state(context, context.authenticator.user({"cookie": f"{COOKIE}={cookie}"})))
    answer.set_cookie(
        COOKIE,
        cookie,
        max_age=SESSION_SECONDS,
        httponly=True,
        samesite="lax",
        secure=context.authenticator.secure_cookie,
    )
    return answer


@router.delete("/session", responses={200: {"model": SessionState}})
def log_out(context: Context) -> ApiResponse:
    """Log this browser out."""
    answer = ApiResponse(_state(context, None))
    answer.delete_cookie(COOKIE, httponly=True, samesite="lax", secure=context.authenticator.secure_cookie)
    return answer


def _state(context: ServerContext, user: str | None) -> dict[str, object]:
    required = context.authenticator.login_required
    return {"login_required": required, "logged_in": user is not None or not required, "user": user}
