"""Takes a picture of every page, report and e-mail: both themes, four widths, from no data to very much.

`make screenshots` writes them to `.screenshots/`, with a page that shows all, for people to look
at. Nothing is compared: what a page must do is stated by the tests of tests/ui.
"""

from __future__ import annotations

import argparse
import html
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from playwright.sync_api import Browser, Error, Page, sync_playwright

from holter.cli.commands.demo import run as run_demo
from holter.server.database import connect
from holter.server.store import Store
from holter.types import Batch, Column, ConfigKey, Delivery, SeriesKey
from tests.support import install_chromium
from tests.support.awkward_runs import AwkwardRuns
from tests.support.mail_pages import mail_about
from tests.support.pages import FLAGS, Runs, Server, healthy, until
from tests.support.protected_server import ProtectedServer

WIDTHS = (360, 768, 1440, 2560)
THEMES = ("light", "dark")
HEIGHTS = {360: 780, 768: 1024, 1440: 900, 2560: 1440}
MANY_POINTS = 1_000_000
"""Points of each series of the large run."""
MANY_SERIES = 10
_GALLERY = """<!doctype html><meta charset="utf-8"><title>Screenshots</title>
<style>
body { font: 14px sans-serif; background: #777; color: #fff; }
div { display: flex; gap: 8px; align-items: start; overflow-x: auto; }
img { max-height: 800px; max-width: 900px; }
</style>
ROWS
"""
QUIET_SECONDS = 0.6
"""How long a page has to stay without a request before its picture is taken."""
LOADING_SECONDS = 20.0


class PagePicture(NamedTuple):
    """A page: the name of its files, and its path or else its HTML. `media`: screen or print."""

    name: str
    path: str
    html: str = ""
    media: Literal["screen", "print"] = "screen"


def main(arguments: Sequence[str] | None = None) -> int:
    """Take the pictures; exit code 1 without a browser."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", default=Path(".screenshots"))
    parser.add_argument("--widths", type=int, nargs="+", default=WIDTHS, metavar="PIXELS")
    parser.add_argument("--themes", nargs="+", default=THEMES, choices=THEMES)
    parser.add_argument("--servers", nargs="+", default=tuple(SERVERS), choices=tuple(SERVERS))
    parser.add_argument("--only", default="", metavar="TEXT", help="pages whose name contains this")
    options = parser.parse_args(arguments)
    program = install_chromium.find()
    if program is None:
        print(
            "screenshots: no chromium: apt-get install chromium, or name one with TEST_BROWSER",
            file=sys.stderr,
        )
        return 1
    options.folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="holter-screenshots-") as temporary,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        taken: list[PagePicture] = []
        for name in options.servers:
            serve = SERVERS[name]
            with serve(Path(temporary) / serve.__name__) as (server, pages):
                chosen = [page for page in pages if options.only in page.name]
                taken += chosen
                for picture in chosen:
                    take_pictures(browser, server, picture, options.folder, options.widths, options.themes)
        browser.close()
    write_gallery(taken, options.folder, options.widths, options.themes)
    print(f"{options.folder / 'index.html'} shows all of them")
    return 0


@contextmanager
def empty_server(folder: Path) -> Iterator[tuple[Server, list[PagePicture]]]:
    """A server without any data."""
    folder.mkdir()
    server = Server(folder)
    names = {"overview": "/", "compare": "/compare", "incidents": "/incidents", "planned": "/planned"}
    names |= {"alerts": "/alerts", "settings": "/settings", "missing": "/no/such/page"}
    try:
        yield server, [PagePicture(f"empty-{name}", path) for name, path in names.items()]
    finally:
        server.close()


@contextmanager
def server_with_few_points(folder: Path) -> Iterator[tuple[Server, list[PagePicture]]]:
    """A server with a run of ten points."""
    folder.mkdir()
    server = Server(folder)
    now = time.time()
    steps = list(range(10))
    run = server.post(
        "first-try",
        {"step": steps, "time": [now - 10 + step for step in steps], "loss": [4 - 0.1 * s for s in steps]},
    )
    try:
        yield server, [PagePicture("few-overview", "/"), PagePicture("few-run", f"/runs/{run}")]
    finally:
        server.close()


@contextmanager
def server_with_awkward_runs(folder: Path) -> Iterator[tuple[Server, list[PagePicture]]]:
    """A server with runs that are hard to show; their reports and e-mails."""
    folder.mkdir()
    server = Server(folder)
    try:
        known = AwkwardRuns(server)
        report = f"/api/v1/runs/{known.broken}/report"
        yield (
            server,
            [
                PagePicture("awkward-overview", "/"),
                PagePicture("awkward-ranks", f"/runs/{known.ranks}"),
                PagePicture("awkward-datasets", f"/runs/{known.datasets}"),
                PagePicture("awkward-stalled", f"/runs/{known.stalled}"),
                PagePicture("awkward-event", f"/incidents/{known.nan}"),
                PagePicture("awkward-straggler", f"/incidents/{known.straggler}"),
                PagePicture("awkward-incidents", "/incidents?state=all"),
                PagePicture("compare-two", f"/compare?runs={known.warm_up},{known.broken}"),
                PagePicture("report", report),
                PagePicture("report-print", report, media="print"),
                PagePicture("run-print", f"/runs/{known.broken}", media="print"),
                PagePicture("incident-print", f"/incidents/{known.nan}", media="print"),
                PagePicture("week", "/api/v1/projects/llm/report"),
                PagePicture("week-empty", "/api/v1/projects/llm/report?week=2020-W01"),
                PagePicture("mail", "", mail_about(folder, known.nan)),
                PagePicture("mail-straggler", "", mail_about(folder, known.straggler)),
            ],
        )
    finally:
        server.close()


@contextmanager
def server_with_shared_pages(folder: Path) -> Iterator[tuple[Server, list[PagePicture]]]:
    """A server with a password, and pages of it that links show."""
    folder.mkdir()
    protected = ProtectedServer(folder)
    try:
        ids = [
            protected.post("/ingest", {"project": "llm", "run": name, "columns": healthy()})["run_id"]
            for name in ("first", "second")
        ]
        paths = {
            "run": f"/runs/{ids[0]}",
            "compare": f"/compare?runs={','.join(ids)}",
            "overview": "/?q=project:llm",
        }
        address = protected.server.address
        pages = [
            PagePicture(f"shared-{name}", protected.share(path).removeprefix(address))
            for name, path in paths.items()
        ]
        yield protected.server, [*pages, PagePicture("login", "/login")]
    finally:
        protected.server.close()


@contextmanager
def server_with_much(folder: Path) -> Iterator[tuple[Server, list[PagePicture]]]:
    """A server with the demo's runs, those of the tests, and one of ten million points."""
    folder.mkdir()
    run_demo(argparse.Namespace(data_dir=folder, once=True, port=0, run=[], seconds=0))
    data = next(folder.glob("demo-*/data"))
    large = store_large_run(data)
    server = Server(data)
    try:
        known = Runs(server)
        yield server, pages_with_much(server, known, large)
    finally:
        server.close()


def pages_with_much(server: Server, known: Runs, large: str) -> list[PagePicture]:
    """The pages of a server with data; each run and incident by what it shows."""
    runs = server.ask("/runs")["runs"]
    by_incidents = sorted(runs, key=lambda each: (-each["open_incidents"], each["name"]))
    worst = by_incidents[0]["id"]
    until(lambda: server.ask("/incidents?state=all")["incidents"])
    several = ",".join(str(each["id"]) for each in runs[:4])
    return [
        PagePicture("overview", "/"),
        PagePicture("overview-filtered", "/?q=state:running"),
        PagePicture("run", f"/runs/{known.rolled_back}"),
        PagePicture("run-incident", f"/runs/{known.broken}?incident={known.incident}"),
        PagePicture("run-worst", f"/runs/{worst}"),
        PagePicture("run-large", f"/runs/{large}"),
        PagePicture("compare", f"/compare?runs={several}"),
        PagePicture("compare-none", "/compare"),
        PagePicture("incidents", "/incidents?state=all"),
        PagePicture("incident", f"/incidents/{known.incident}"),
        PagePicture("planned", "/planned"),
        PagePicture("alerts", "/alerts"),
        PagePicture("settings", "/settings"),
    ]


SERVERS = {
    "empty": empty_server,
    "few": server_with_few_points,
    "awkward": server_with_awkward_runs,
    "shared": server_with_shared_pages,
    "much": server_with_much,
}
"""The servers whose pages are shown."""


def store_large_run(data: Path, points: int = MANY_POINTS) -> str:
    """Store a run of ten series of so many points; returns its id."""
    generator = np.random.default_rng(0)
    steps = np.arange(points)
    loss = 2 + 6 * (steps + 20.0) ** -0.3
    levels = {"train/loss": loss, "grad_norm": loss / 3, "tokens_per_second": np.full(points, 52_000.0)}
    levels |= {f"layer/{number}/norm": loss + number for number in range(MANY_SERIES - len(levels))}
    times = time.time() - points + steps
    engine = connect(f"sqlite:///{next(data.glob('*.db'))}")
    store = Store(engine)
    store.start()
    receipt = None
    for begin in range(0, points, 50_000):
        rows = slice(begin, begin + 50_000)
        noise = np.exp(generator.normal(0, 0.02, (MANY_SERIES, len(steps[rows]))))
        columns = tuple(
            Column(key=SeriesKey(name), values=level[rows] * noise[index])
            for index, (name, level) in enumerate(levels.items())
        )
        batch = Batch(steps=steps[rows], times=times[rows], columns=columns, config={ConfigKey("lr"): 3e-4})
        receipt = store.accept(
            Delivery(project="llm", run="ten-million-points", writer="w", batch_id=str(begin), batch=batch)
        )
    store.close()
    engine.dispose()
    assert receipt is not None
    return str(receipt.public_id)


def take_pictures(
    browser: Browser,
    server: Server,
    picture: PagePicture,
    folder: Path,
    widths: Sequence[int],
    themes: Sequence[str],
) -> None:
    """One file for each theme and width: the page, at most three screens of it.

    An open page follows the theme of the system, so that it is loaded once for all themes.
    """
    for width in widths:
        height = HEIGHTS.get(width, 900)
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=themes[0], reduced_motion="reduce"
        )
        page = context.new_page()
        page.emulate_media(media=picture.media)
        if picture.html:
            page.set_content(picture.html)
        else:
            page.goto(server.address + picture.path)
            wait_until_drawn(page)
        full = min(int(page.evaluate("document.documentElement.scrollHeight")), 3 * height)
        page.set_viewport_size({"width": width, "height": full})
        for theme in themes:
            page.emulate_media(color_scheme=theme)
            if not picture.html:
                wait_until_drawn(page)
            page.screenshot(path=file_of(picture, folder, width, theme))
            print(f"{picture.name} {theme} {width}", flush=True)
        context.close()


def wait_until_drawn(page: Page) -> None:
    """Wait until the page has a heading and asks for nothing more; a stream of events stays open."""
    page.locator("h1").first.wait_for(timeout=LOADING_SECONDS * 1000)
    deadline = time.monotonic() + LOADING_SECONDS
    count, since = -1, time.monotonic()
    while time.monotonic() < deadline and time.monotonic() - since < QUIET_SECONDS:
        page.wait_for_timeout(100)
        requests = int(page.evaluate("performance.getEntriesByType('resource').length"))
        waiting = int(page.evaluate("document.querySelectorAll('[aria-busy=true], .skeleton').length"))
        if requests != count or waiting:
            count, since = requests, time.monotonic()


def file_of(picture: PagePicture, folder: Path, width: int, theme: str) -> Path:
    """The file of one picture."""
    return folder / f"{picture.name}-{theme}-{width}.png"


def write_gallery(
    taken: Sequence[PagePicture], folder: Path, widths: Sequence[int], themes: Sequence[str]
) -> None:
    """A page with all pictures: a row for each page and theme."""
    rows = [
        f"<h2>{html.escape(picture.name)} <small>{html.escape(picture.path)}, {theme}</small></h2><div>"
        + "".join(
            f'<a href="{name}"><img src="{name}" alt="{width} pixels" loading="lazy"></a>'
            for width in widths
            for name in [file_of(picture, folder, width, theme).name]
        )
        + "</div>"
        for picture in taken
        for theme in themes
    ]
    (folder / "index.html").write_text(_GALLERY.replace("ROWS", "\n".join(rows)))


if __name__ == "__main__":
    try:
        raise SystemExit(main())
    except Error as error:
        raise SystemExit(f"screenshots: {error}") from error
