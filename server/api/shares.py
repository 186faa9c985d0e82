"""Routes of share links: created, listed and revoked by those who are logged in, opened by anybody."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import RedirectResponse, Response

from holter.server.api.responses import ApiResponse, field_errors_response, not_found, set_secret_cookie
from holter.server.context import Context
from holter.server.schemas.run_search import NewShareLink, ShareLinkList
from holter.server.share_links import COOKIE, MAX_DAYS, MAX_PATH, SharedPageError

router = APIRouter(tags=["shares"])
pages = APIRouter(include_in_schema=False)
_LINK_NOT_FOUND = not_found("There is no such link in force")


class ShareBody(BaseModel):
    """A page to share, as its address within the server, and for how many days."""

    model_config = ConfigDict(extra="forbid")

    path: str = Field(min_length=1, max_length=MAX_PATH)
    days: float = Field(default=7, gt=0, le=MAX_DAYS)


@router.get("/shares", responses={200: {"model": ShareLinkList}})
def list_links(context: Context) -> ApiResponse:
    """All share links, the newest first, without their secrets."""
    return ApiResponse(ShareLinkList(links=context.shares.all()))


@router.post("/shares", responses={200: {"model": NewShareLink}})
def create_link(context: Context, request: Request, body: ShareBody) -> ApiResponse:
    """Create a link that shows one page read-only. Its address is in this answer only."""
    try:
        by = context.authenticator.user(request.headers)
        return ApiResponse(context.shares.create(body.path, body.days, by=by))
    except SharedPageError as error:
        return field_errors_response([(("body", "path"), str(error))])


@router.delete("/shares/{link_id}", status_code=204, responses=_LINK_NOT_FOUND, response_class=Response)
def revoke_link(link_id: Annotated[int, Path(ge=1, le=2**31 - 1)], context: Context) -> Response:
    """End a link. Pages that are open stop within seconds."""
    context.shares.revoke(link_id)
    return Response(status_code=204)


@pages.get("/share/{secret}")
def open_link(secret: str, context: Context) -> Response:
    """Show the page of a link: its secret becomes a cookie, so that it does not stay in the address."""
    share = context.shares.open(secret)
    context.authenticator.refresh()  # a link may be opened the moment it was created
    seconds = max(1, int(share.expires_at - context.clock()))
    response = RedirectResponse(share.path, status_code=303, headers={"Cache-Control": "no-store"})
    set_secret_cookie(response, COOKIE, secret, seconds=seconds, secure=context.authenticator.secure_cookie)
    return response
