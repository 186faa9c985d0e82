"""Routes of the pages: HTML, their files, and the reference of the REST interface."""

from __future__ import annotations

from importlib.resources import files

from fastapi import APIRouter, Request, Response
from jinja2 import Environment, select_autoescape
from starlette.exceptions import HTTPException

from holter.server.api import responses
from holter.server.api.responses import error_response
from holter.server.api.static_files import PLOTLY_PATH, PageFileCache, unzipped_plotly, zipped_plotly

CACHE_FOREVER = "public, max-age=31536000, immutable"

router = APIRouter(include_in_schema=False)
_pages = PageFileCache()


@router.get("/")
@router.get("/runs/{run_id}")
@router.get("/compare")
@router.get("/incidents")
@router.get("/incidents/{incident_id}")
@router.get("/planned")
@router.get("/alerts")
@router.get("/settings")
@router.get("/login")
def page() -> Response:
    """The HTML of all pages; its scripts show the page of the address."""
    return Response(_pages.index(), media_type="text/html", headers={"Cache-Control": "no-cache"})


@router.get("/static/{hash}/{path:path}")
def static(hash: str, path: str, request: Request) -> Response:
    """A file of the pages. Browsers may cache it only under the present hash."""
    current = _pages.files()
    file = current.by_path.get(path)
    if file is None:
        return error_response(404, f"there is no file {path}")
    content = file.zipped if _accepts_gzip(request) else file.content
    cache_control = CACHE_FOREVER if hash == current.hash else "no-store"
    return _file_response(request, content, file.media_type, cache_control)


@router.get(PLOTLY_PATH)
def plotting_library(request: Request) -> Response:
    """Plotly, from the installed package."""
    content = zipped_plotly() if _accepts_gzip(request) else unzipped_plotly()
    return _file_response(request, content, "text/javascript", CACHE_FOREVER)


async def on_http_error(request: Request, error: Exception) -> Response:
    """The response to an HTTPException: for a browser that requests an unknown page, the HTML page."""
    assert isinstance(error, HTTPException)
    wants_page = request.method == "GET" and "text/html" in request.headers.get("accept", "")
    if error.status_code == 404 and wants_page and not request.url.path.startswith("/api/"):
        return Response(_pages.index(), 404, {"Cache-Control": "no-cache"}, "text/html")
    return await responses.on_http_error(request, error)


@router.get("/docs")
def reference(request: Request) -> Response:
    """The reference of the REST interface, made of its OpenAPI document, without external files."""
    source = (files("holter.server.api") / "reference.html").read_text()
    template = Environment(autoescape=select_autoescape(default=True)).from_string(source)
    return Response(template.render(api=request.app.openapi()), media_type="text/html")


def _accepts_gzip(request: Request) -> bool:
    return "gzip" in request.headers.get("accept-encoding", "")


def _file_response(request: Request, content: bytes, media_type: str, cache_control: str) -> Response:
    """`content` is shared by all responses, so that those that nobody reads take no memory each."""
    headers = {"Cache-Control": cache_control, "Vary": "Accept-Encoding"}
    if _accepts_gzip(request):
        headers["Content-Encoding"] = "gzip"
    return Response(content, media_type=media_type, headers=headers)
