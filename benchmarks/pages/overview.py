"""An overview of very many runs: its first rows, frames while it scrolls, its memory."""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

from playwright.sync_api import Browser

from benchmarks.pages.target import Measured, heap_size, watched
from holter.server.database import connect
from tests.support.pages import Server

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from run_search import fill

SETTINGS = 12
ROWS = ".table-row[role=row]:not(.table-head):not(.table-section):not(.table-pending)"
SCROLL = """() => new Promise((done) => {
  const deltas = [];
  let before = performance.now(), frames = 0;
  const scroller = document.querySelector(".run-table");
  function frame(now) {
    deltas.push(now - before);
    before = now;
    scroller.scrollTop += 300;
    if (++frames < 240) requestAnimationFrame(frame);
    else done(deltas.slice(5));
  }
  requestAnimationFrame(frame);
})"""


def measure_overview(browser: Browser, folder: Path, options: argparse.Namespace) -> list[Measured]:
    """The overview of runs with settings, tags and incidents, filled by SQL."""
    Server(folder).close()  # creates the database
    engine = connect(f"sqlite:///{next(folder.glob('*.db'))}")
    fill(engine, options.runs, SETTINGS)
    engine.dispose()
    server = Server(folder)
    seen, heaps, frames, moved = [], [], [], 0
    for _ in range(options.rounds):
        page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
        session = watched(page)
        began = time.perf_counter()
        page.goto(server.address, wait_until="commit")
        page.locator(ROWS).first.wait_for()
        seen.append(time.perf_counter() - began)
        page.wait_for_timeout(1000)
        frames += page.evaluate(SCROLL)
        moved = page.evaluate("document.querySelector('.run-table').scrollTop")
        heaps.append(heap_size(page, session))
        page.context.close()
    server.close()
    if moved < 10_000:
        raise SystemExit(f"pages: the overview scrolled by {moved} pixels only")
    late = sum(delta > 1000 / 60 + 4 for delta in frames) / len(frames)
    return [
        Measured("rows seen, the first time", seen[0], "s", "1 s"),
        Measured("rows seen, median", statistics.median(seen), "s", "1 s"),
        Measured("frames a second while scrolling, median", 1000 / statistics.median(frames), "", "60"),
        Measured("frames that came late", 100 * late, "%"),
        Measured("JavaScript heap after scrolling", max(heaps), "MB", "150 MB"),
    ]
