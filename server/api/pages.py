"""The pages for people, and the files they are made of."""

from __future__ import annotations

import gzip
from importlib.resources import files

from fastapi import APIRouter, Request, Response
from jinja2 import Environment, select_autoescape
from starlette.exceptions import HTTPException

from holter.server.api import responses
from holter.server.api.responses import error_response
from holter.server.api.static_files import PLOTLY_PATH, PageFile, Pages, plotly

ALWAYS = "public, max-age=31536000, immutable"

router = APIRouter(include_in_schema=False)
_pages = Pages()


@router.get("/")
@router.get("/runs/{run_id}")
@router.get("/incidents")
@router.get("/incidents/{incident_id}")
@router.get("/login")
def page() -> Response:
    """The one page; its scripts show what the address says."""
    return Response(_pages.index(), media_type="text/html", headers={"Cache-Control": "no-cache"})


@router.get("/static/{hash}/{path:path}")
def static(hash: str, path: str, request: Request) -> Response:
    """A file of the pages. Only under its own hash may it be kept."""
    current = _pages.files()
    found = current.by_path.get(path)
    if found is None:
        return error_response(404, f"there is no file {path}")
    return _file(request, found, ALWAYS if hash == current.hash else "no-store")


@router.get(PLOTLY_PATH)
def plotting_library(request: Request) -> Response:
    """Plotly, from the installed package."""
    return _file(request, plotly(), ALWAYS)


async def on_http_error(request: Request, error: Exception) -> Response:
    """A browser that asks for a page there is not gets the one that says so; all else gets a sentence."""
    assert isinstance(error, HTTPException)
    wants_page = request.method == "GET" and "text/html" in request.headers.get("accept", "")
    if error.status_code == 404 and wants_page and not request.url.path.startswith("/api/"):
        return Response(_pages.index(), 404, {"Cache-Control": "no-cache"}, "text/html")
    return await responses.on_http_error(request, error)


@router.get("/docs")
def reference(request: Request) -> Response:
    """The REST interface for readers, from its OpenAPI description; nothing comes from elsewhere."""
    source = (files("holter.server.api") / "reference.html").read_text()
    template = Environment(autoescape=select_autoescape(default=True)).from_string(source)
    return Response(template.render(api=request.app.openapi()), media_type="text/html")


def _file(request: Request, file: PageFile, keep: str) -> Response:
    headers = {"Cache-Control": keep, "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"] = "gzip"
        return Response(file.zipped, media_type=file.media_type, headers=headers)
    return Response(file.content or gzip.decompress(file.zipped), media_type=file.media_type, headers=headers)
