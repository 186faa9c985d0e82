"""Fixtures of the page tests: a browser, a server with runs, and pages whose console is checked."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from holter.detectors.findings import catalogue_as_json
from tests.support import install_chromium
from tests.support.http_servers import serving
from tests.support.npm_packages import AXE, install, is_installed, node_folder
from tests.support.pages import FLAGS, STATIC, Opener, Quiet, Runs, Server
from tests.support.requirements import skip_missing

expect.set_options(timeout=60_000)  # the machine may be busy
FRESH_SECONDS = 180
"""The age of runs that another file of tests may begin with."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Headless Chromium, without background network traffic.

    For one file: while Playwright is open, an event loop counts as running, and others could not run one.
    """
    program = install_chromium.find()
    if program is None:
        skip_missing("chromium: apt-get install chromium, or name one with TEST_BROWSER")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Opener]:
    """Opens pages. The test fails if one of them logs an error or a warning."""
    opener = Opener(browser)
    yield opener
    opener.close()
    assert opener.messages == []


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe."""
    node = node_folder()
    if node is not None and not is_installed():
        install(node)
    if not AXE.exists():
        skip_missing("axe-core: npm ci in tests/ui")
    return AXE.read_text()


@pytest.fixture(scope="module")
def modules(browser: Browser) -> Iterator[Page]:
    """A blank page, with the findings catalogue, on which single modules of the pages can be imported."""
    with serving(partial(Quiet, directory=str(STATIC))) as address:
        context = browser.new_context(timezone_id="Europe/Berlin")
        page = context.new_page()
        page.goto(f"{address}/icon.svg")
        set_catalogue = "async (catalogue) => (await import('/lib/catalogue.js')).setCatalogue(catalogue)"
        page.evaluate(set_catalogue, catalogue_as_json())
        yield page
        context.close()


@pytest.fixture
def call(modules: Page) -> Callable[..., Any]:
    """Calls a function of a module: `call("lib/format.js", "number", 2.5)`."""

    def run(module: str, name: str, *arguments: Any) -> Any:
        return modules.evaluate(
            "async ([module, name, given]) => (await import('/' + module))[name](...given)",
            [module, name, list(arguments)],
        )

    return run


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server for all tests of the pages."""
    running = Server(tmp_path_factory.mktemp("server"))
    yield running
    running.close()


@pytest.fixture(scope="session")
def stored_runs(server: Server) -> list[Runs]:
    """The runs that are on the server: none, or one set of them."""
    return []


@pytest.fixture(scope="module")
def runs(server: Server, stored_runs: list[Runs]) -> Runs:
    """A steady run, one with a rollback, and one whose loss becomes NaN.

    All of them run: ten minutes after their last point they would be stalled, however busy the machine is.
    """
    if stored_runs and time.time() - stored_runs[0].posted_at > FRESH_SECONDS:
        stored_runs.pop().remove(server)
    if not stored_runs:
        stored_runs.append(Runs(server))
    return stored_runs[0]
