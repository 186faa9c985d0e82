"""The session of a person's browser: who is logged in, logging in and out."""

from __future__ import annotations

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from holter.server.api.responses import Answer, refused
from holter.server.auth import COOKIE, SESSION_SECONDS
from holter.server.context import OfServer, Parts
from holter.server.schemas.service import Problem, SessionState

router = APIRouter(tags=["session"])


class Login(BaseModel):
    """The password, or an access token in its place."""

    model_config = ConfigDict(extra="forbid")
    password: str = Field(min_length=1, max_length=1000)


@router.get("/session", responses={200: {"model": SessionState}})
def session(parts: OfServer, request: Request) -> Answer:
    """Whether a login is needed here, and who is logged in."""
    return Answer(_state(parts, parts.access.user(request.headers)))


@router.post(
    "/session",
    responses={
        200: {"model": SessionState},
        401: {"model": Problem, "description": "Neither the password nor a token"},
        429: {"model": Problem, "description": "Too many failed logins: wait for Retry-After seconds"},
    },
)
def log_in(parts: OfServer, request: Request, body: Login) -> Answer:
    """Log a browser in for 30 days, by a cookie that scripts cannot read."""
    client = request.client.host if request.client else "unknown"
    if wait := parts.access.wait_before_login(client):
        reason = f"too many failed logins: try again in {wait} s"
        return refused(429, reason, {"Retry-After": str(wait)})
    cookie = parts.access.log_in(body.password)
    if cookie is None:
        parts.access.login_failed(client)
        return refused(401, "this is neither the password nor an access token")
    answer = Answer(_state(parts, parts.access.user({"cookie": f"{COOKIE}={cookie}"})))
    answer.set_cookie(
        COOKIE,
        cookie,
        max_age=SESSION_SECONDS,
        httponly=True,
        samesite="lax",
        secure=parts.access.secure_cookie,
    )
    return answer


@router.delete("/session", responses={200: {"model": SessionState}})
def log_out(parts: OfServer) -> Answer:
    """Log this browser out."""
    answer = Answer(_state(parts, None))
    answer.delete_cookie(COOKIE, httponly=True, samesite="lax", secure=parts.access.secure_cookie)
    return answer


def _state(parts: Parts, user: str | None) -> dict[str, object]:
    required = parts.access.login_required
    return {"login_required": required, "logged_in": user is not None or not required, "user": user}
