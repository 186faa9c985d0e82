"""Pages that are opened by a share link: read-only, without a login."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.support.pages import Opener, healthy
from tests.support.protected_server import ProtectedServer


@pytest.fixture(scope="module")
def protected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProtectedServer]:
    protected = ProtectedServer(tmp_path_factory.mktemp("protected"))
    yield protected
    protected.server.close()


@pytest.fixture(scope="module")
def run(protected: ProtectedServer) -> str:
    return str(protected.post("/ingest", {"project": "llm", "run": "a", "columns": healthy()})["run_id"])


def test_a_link_shows_its_run_at_once_and_no_more(
    open_page: Opener, protected: ProtectedServer, run: str
) -> None:
    page = open_page(protected.share(f"/runs/{run}"))
    expect(page.get_by_role("heading", name="a", exact=True)).to_be_visible()
    expect(page.locator(".plot[data-drawn]").first).to_be_visible()
    assert page.url == f"{protected.server.address}/runs/{run}"
    for name in ("Stop run…", "Compare with…", "Log out", "Incidents"):
        expect(page.get_by_text(name, exact=True).locator("visible=true")).to_have_count(0)


@pytest.mark.parametrize("path", ["/?q=project:llm", "/compare?runs={run}"])
def test_a_link_to_other_pages_asks_for_what_it_permits(
    open_page: Opener, protected: ProtectedServer, run: str, path: str
) -> None:
    page = open_page(protected.share(path.format(run=run)))
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.get_by_text("a", exact=True).first).to_be_visible()
    page.wait_for_load_state("load")
    assert "/login" not in page.url
