"""The files of the pages have addresses that change with their content, so that browsers may cache them."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import fastapi.routing
import httpx
import pytest
from starlette.routing import Match

from holter.server import app
from holter.server.api.static_files import FOLDER, PLOTLY_PATH, PageFileCache
from holter.server.context import ServerContext
from holter.settings import Settings

Serve = Callable[[Settings], AbstractContextManager[tuple[ServerContext, str]]]


@pytest.fixture(scope="module")
def client(serve: Serve, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """One server for all these tests: pages are read only."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("data"))
    with serve(settings) as (_, address), httpx.Client(base_url=address, timeout=60) as talking:
        yield talking


@pytest.mark.parametrize("path", ["/", "/runs/abc", "/incidents", "/incidents/7", "/login"])
def test_every_page_is_the_one_page(client: httpx.Client, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"
    assert "{{" not in answer.text


def test_all_files_of_the_page_exist_and_are_cached_forever(client: httpx.Client) -> None:
    named = set(re.findall(r'(?:src|href)="(/[^"]+)"', client.get("/").text))
    files = {path for path in named if not path.startswith("/api/")}
    assert PLOTLY_PATH in files
    for path in files:
        answer = client.get(path)
        assert answer.status_code == 200, path
        assert "immutable" in answer.headers["cache-control"]


def test_every_imported_module_exists(client: httpx.Client) -> None:
    prefix = re.search(r'"(/static/[^/"]+)/', client.get("/").text)
    assert prefix is not None
    for module in FOLDER.rglob("*.js"):
        for name in re.findall(r'^(?:import|export) .*? from "(\.[^"]+)"', module.read_text(), re.MULTILINE):
            wanted = (module.parent / name).resolve().relative_to(FOLDER.resolve())
            answer = client.get(f"{prefix[1]}/{wanted.as_posix()}")
            assert answer.status_code == 200, f"{module.name} imports {name}"
            assert answer.headers["content-type"] == "text/javascript; charset=utf-8"


def test_plotly_comes_from_the_installed_package_compressed_or_not(client: httpx.Client) -> None:
    zipped = client.get(PLOTLY_PATH, headers={"Accept-Encoding": "gzip"})
    plain = client.get(PLOTLY_PATH, headers={"Accept-Encoding": "identity"})
    assert zipped.headers["content-encoding"] == "gzip"
    assert int(zipped.headers["content-length"]) < 2_000_000
    assert zipped.content == plain.content
    assert len(plain.content) > 3_000_000


def test_an_edited_file_gets_a_new_address(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text('<script src="{{static}}/main.js">')
    (tmp_path / "main.js").write_text("one")
    pages = PageFileCache(tmp_path)
    before, page = pages.files().hash, pages.index()
    assert pages.files().hash == before
    (tmp_path / "main.js").write_text("other")
    after = pages.files()
    assert after.hash != before
    assert after.hash in pages.index() != page
    assert gzip.decompress(after.by_path["main.js"].zipped) == b"other"


def test_a_file_under_an_old_address_is_not_cached(client: httpx.Client) -> None:
    assert client.get("/static/0123456789abcdef/main.js").headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "path", ["/static/x/../app.py", "/static/x/%2e%2e/%2e%2e/core/types.py", "/static/x/no.js", "/nowhere"]
)
def test_nothing_else_is_served(client: httpx.Client, path: str) -> None:
    assert client.get(path).status_code == 404


def test_the_html_reference_names_every_route(client: httpx.Client) -> None:
    text = client.get("/docs").text
    for path in client.get("/openapi.json").json()["paths"]:
        assert path in text
    assert "<script" not in text


def test_what_the_framework_prepares_for_its_first_answer_is_prepared_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app._routes.cache_clear()  # other tests have prepared them
    server = app.create_app(Settings(data_dir=tmp_path))
    app.prepare_routes(server)
    monkeypatch.setattr(fastapi.routing, "_populate_api_route_state", None)
    scope = {"type": "http", "method": "GET", "path": "/api/v1/runs", "root_path": "", "headers": []}
    matches = [route.matches(dict(scope))[0] for route in server.routes]
    assert Match.FULL in matches
