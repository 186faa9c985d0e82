"""How long a run's page takes until it shows something, and what it asks for."""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

from playwright.sync_api import Browser, Page

from benchmarks.pages.target import FIRST_CURVE, SETTLED_SECONDS, Measured, metric, watched
from tests.support.pages import Server
from tests.support.screenshots import store_large_run

METRICS = 1000


def measure_run_page(browser: Browser, folder: Path, options: argparse.Namespace) -> list[Measured]:
    """The page of a run of ten long series."""
    Server(folder).close()  # creates the database
    run = store_large_run(folder, options.points)
    return _opened(browser, folder, run, options.rounds)


def measure_many_metrics(browser: Browser, folder: Path, options: argparse.Namespace) -> list[Measured]:
    """The page of a run of a thousand metrics of ten points each."""
    server = Server(folder)
    columns = {f"layer/{number // 10}/metric_{number % 10}": [1.0 * number] * 10 for number in range(METRICS)}
    run = server.post("wide", {"step": list(range(10)), **columns})
    server.close()
    return _opened(browser, folder, run, options.rounds)


def _opened(browser: Browser, folder: Path, run: str, rounds: int) -> list[Measured]:
    server = Server(folder)
    both = [_open_twice(browser, f"{server.address}/runs/{run}") for _ in range(rounds)]
    server.close()
    cold = {name: statistics.median(first[name] for first, _ in both) for name in both[0][0]}
    warm = statistics.median(second["curve"] for _, second in both)
    return [
        Measured("first curve, a fresh browser context", cold["curve"], "s", "1.2 s"),
        Measured("first curve, opened again in it", warm, "s", "0.4 s"),
        Measured("processor time until 2 s after the first curve", cold["busy"], "s", "0.4 s"),
        Measured("requests with the page itself and the stream of events", cold["requests"], "", "15"),
        Measured("compressed bytes of these requests", cold["bytes"], "kB", "700 kB"),
    ]


def _open_twice(browser: Browser, address: str) -> tuple[dict[str, float], dict[str, float]]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    first = _open(context.new_page(), address)
    second = _open(context.new_page(), address)
    context.close()
    return first, second


def _open(page: Page, address: str) -> dict[str, float]:
    session = watched(page)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    began = time.perf_counter()
    page.goto(address, wait_until="commit")
    page.locator(FIRST_CURVE).first.wait_for()
    curve = time.perf_counter() - began
    page.wait_for_timeout(1000 * SETTLED_SECONDS)
    transferred = "performance.getEntries().reduce((sum, each) => sum + (each.transferSize ?? 0), 0)"
    result = {
        "curve": curve,
        "requests": len(requests),
        "bytes": page.evaluate(transferred) / 1000,
        "busy": metric(session, "TaskDuration"),
    }
    page.close()
    return result
