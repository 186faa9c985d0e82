"""Twenty runs of a million points compared at the server and in a browser.

    python -m benchmarks.compare_speed

The server has analysed the runs and rests; what is asked first was not asked before.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

from holter.server.database import connect
from holter.server.store import Store
from holter.types import Batch, Column, ConfigKey, Delivery, SeriesKey
from tests.support import install_chromium
from tests.support.pages import FLAGS, Server

FIRST_PICTURE = ".plot[data-drawn]"
QUESTIONS = {"curves": "metric=loss&points=1000", "statistics": "x=step"}
PART = 50_000
DAY = 86_400


def store_runs(folder: Path, runs: int, points: int) -> list[str]:
    """Store runs that differ by seed and rate; their ids."""
    engine = connect(f"sqlite:///{next(folder.glob('*.db'))}")
    store = Store(engine)
    store.start()
    ids = []
    for number in range(runs):
        random = np.random.default_rng(number)
        steps = np.arange(points)
        loss = 2 + 6 * (steps + 20.0) ** -0.3 * (1 + 0.002 * number) + 0.05 * random.standard_normal(points)
        times = time.time() - DAY - points + steps  # finished: analysed once, not again with each start
        for begin in range(0, points, PART):
            rows = slice(begin, begin + PART)
            config = {ConfigKey("lr"): 3e-4 * (1 + number % 2), ConfigKey("seed"): number}
            columns = (Column(key=SeriesKey("loss"), values=loss[rows]),)
            batch = Batch(steps=steps[rows], times=times[rows], columns=columns, config=config)
            receipt = store.accept(
                Delivery(project="llm", run=f"run-{number}", writer="w", batch_id=str(begin), batch=batch)
            )
        ids.append(str(receipt.public_id))
    store.compact()  # as the server does within minutes
    store.close()
    engine.dispose()
    return ids


def wait_until_idle(server: Server) -> None:
    """Wait until the server has analysed all runs: it takes no processor time for some seconds."""
    quiet, before = 0, -1.0
    while quiet < 3:
        time.sleep(1)
        fields = Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        now = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        quiet, before = quiet + 1 if now - before < 0.1 else 0, now


def ask(server: Server, ids: list[str], what: str) -> float:
    """Milliseconds of an answer."""
    began = time.perf_counter()
    server.ask(f"/compare/{what}?runs={','.join(ids)}&{QUESTIONS[what]}")
    return 1000 * (time.perf_counter() - began)


def main() -> None:
    """Print the times."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    program = install_chromium.find()
    if program is None:
        raise SystemExit(
            "compare_speed: no chromium: apt-get install chromium, or name one with TEST_BROWSER"
        )
    times: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as text, sync_playwright() as playwright:
        folder = Path(text)
        Server(folder).close()  # creates the database
        ids = store_runs(folder, options.runs, options.points)
        server = Server(folder)
        wait_until_idle(server)
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        for number in range(options.rounds):
            for what in QUESTIONS:
                times.setdefault(f"{what}, {'again' if number else 'first'}", []).append(
                    ask(server, ids, what)
                )
            page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
            began = time.perf_counter()
            page.goto(f"{server.address}/compare?runs={','.join(ids)}", wait_until="commit")
            page.locator(FIRST_PICTURE).first.wait_for()
            times.setdefault("first picture of the page", []).append(1000 * (time.perf_counter() - began))
            page.context.close()
        server.close()
        browser.close()
    for name, each in times.items():
        print(f"{name:28} {statistics.median(each):7.0f} ms   ({min(each):.0f} to {max(each):.0f})")


if __name__ == "__main__":
    main()
