"""The pages in a real browser: opening, zoom, live updates, 10,000 runs; each figure beside its target.

    python -m benchmarks.pages
    python -m benchmarks.pages --only "live" --hours 24

Medians of several rounds. Processor time is that of the main thread, from Chromium's `TaskDuration`.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from benchmarks.pages.live_updates import measure_day, measure_incident, measure_live_tab
from benchmarks.pages.opening import measure_many_metrics, measure_run_page
from benchmarks.pages.overview import measure_overview
from benchmarks.pages.target import Measured
from benchmarks.pages.zooming import measure_zoom
from tests.support import install_chromium
from tests.support.pages import FLAGS

MEASUREMENTS: dict[str, Callable[[Browser, Path, argparse.Namespace], list[Measured]]] = {
    "run page": measure_run_page,
    "1,000 metrics": measure_many_metrics,
    "zoom and pan": measure_zoom,
    "live tab": measure_live_tab,
    "incident, live": measure_incident,
    "hours of live updates": measure_day,
    "overview": measure_overview,
}


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="measurements whose name contains this")
    parser.add_argument("--points", type=int, default=1_000_000, help="of each of ten series")
    parser.add_argument("--runs", type=int, default=10_000, help="of the overview")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--live", type=float, default=60.0, help="seconds of the live tab")
    parser.add_argument("--updates", type=float, default=5.0, help="a second, of the live tab")
    parser.add_argument(
        "--hours",
        type=float,
        default=24.0,
        help="of updates every five seconds, by a clock that is put forward",
    )
    options = parser.parse_args()
    program = install_chromium.find()
    if program is None:
        raise SystemExit("pages: no chromium: apt-get install chromium, or name one with TEST_BROWSER")
    print("| | measured | target |\n|---|---|---|")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        for name, measure in MEASUREMENTS.items():
            if options.only in name:
                with tempfile.TemporaryDirectory() as folder:
                    for one in measure(browser, Path(folder), options):
                        print(
                            f"| {name}: {one.what} | {one.value:.3g} {one.unit} | {one.target} |", flush=True
                        )
        browser.close()


if __name__ == "__main__":
    main()
