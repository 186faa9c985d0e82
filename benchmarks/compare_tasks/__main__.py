"""Five tasks of comparing runs, done in Holter, TensorBoard, MLflow, Aim and Trackio on the same data.

    python -m benchmarks.compare_tasks [--only holter,aim] [--rounds 3] [--pictures FOLDER] [--write]

Each tool is installed apart, given the same runs by its own client, and started on a free port. A driver
does the tasks in a browser as a person would, in the best documented way, and counts what it does.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Error, ViewportSize, sync_playwright

from benchmarks.compare_tasks.drive_aim import AimDriver
from benchmarks.compare_tasks.drive_holter import HolterDriver
from benchmarks.compare_tasks.drive_mlflow import MlflowDriver
from benchmarks.compare_tasks.drive_tensorboard import TensorBoardDriver
from benchmarks.compare_tasks.drive_trackio import TrackioDriver
from benchmarks.compare_tasks.drivers import Driver
from benchmarks.compare_tasks.person import Answer, Person, TaskResult
from benchmarks.compare_tasks.report import ToolResult, load, save, table, write
from benchmarks.compare_tasks.tools import TOOLS, Tool, install, served
from benchmarks.compare_tasks.workload import make_runs, save_runs
from tests.support import install_chromium
from tests.support.pages import FLAGS

DRIVERS: dict[str, Callable[[str], Driver]] = {
    "holter": HolterDriver,
    "tensorboard": TensorBoardDriver,
    "mlflow": MlflowDriver,
    "aim": AimDriver,
    "trackio": TrackioDriver,
}
_WINDOW: ViewportSize = {"width": 1440, "height": 900}


def do_tasks(driver: Driver, browser: Browser, pictures: Path | None) -> dict[str, TaskResult]:
    """Every task once: the result by its name."""
    results: dict[str, TaskResult] = {}

    def attempt(name: str, person: Person, task: Callable[[], TaskResult]) -> None:
        person.begin()
        try:
            results[name] = task()
        except (Error, AssertionError) as error:
            results[name] = TaskResult(Answer.NO, f"failed: {str(error).splitlines()[0][:150]}")
        person.picture(name)
        print(f"  {name}: {results[name]}", file=sys.stderr, flush=True)

    first = browser.new_context(viewport=_WINDOW)
    person = Person(first.new_page(), pictures)
    driver.home(person)
    attempt("overlay", person, lambda: driver.overlay(person))
    colleague = browser.new_context(viewport=_WINDOW)
    attempt("send", person, lambda: driver.send(person, colleague.new_page()))
    if pictures is not None and colleague.pages:
        Person(colleague.pages[0], pictures).picture("send-colleague")
    colleague.close()
    attempt("settings", person, lambda: driver.settings(person))
    attempt("better", person, lambda: driver.better(person))
    first.close()
    second = browser.new_context(viewport=_WINDOW)
    finder = Person(second.new_page(), pictures)
    driver.home(finder)
    attempt("find", finder, lambda: driver.find(finder))
    second.close()
    return results


def measure(tool: Tool, runs: Path, data: Path, options: argparse.Namespace) -> dict[str, TaskResult]:
    """The tasks in one tool, several times: counts of the last round, the median of the seconds."""
    pictures: Path | None = None
    if options.pictures:
        pictures = options.pictures / tool.name
        pictures.mkdir(parents=True, exist_ok=True)
    rounds = []
    with served(tool, runs, data) as address, sync_playwright() as playwright:
        for _ in range(options.rounds):
            browser = playwright.chromium.launch(executable_path=install_chromium.find(), args=FLAGS)
            rounds.append(do_tasks(DRIVERS[tool.name](address), browser, pictures))
            browser.close()
    return {
        name: each._replace(seconds=statistics.median(one[name].seconds for one in rounds))
        for name, each in rounds[-1].items()
    }


def main() -> None:
    """Print the table, or write it into the documentation."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", type=lambda text: text.split(","), default=[tool.name for tool in TOOLS])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pictures", type=Path, help="save what is seen after each task")
    parser.add_argument(
        "--data", type=Path, help="keep data and results of the tools here, to use them again"
    )
    parser.add_argument("--write", action="store_true", help="into docs/measurements/compare.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.data or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        save_runs(make_runs(), folder / "runs.json")
        for tool in TOOLS:
            if tool.name in options.only:
                install(tool)
                print(f"{tool.name} {tool.version()}", file=sys.stderr, flush=True)
                tasks = measure(tool, folder / "runs.json", folder / tool.name, options)
                save(folder, ToolResult(tool.name, tool.version(), os.getloadavg()[1], tasks))
        text = table(load([tool.name for tool in TOOLS], folder))
    print(text)
    if options.write:
        write(text)


if __name__ == "__main__":
    main()
