"""The tasks in TensorBoard."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from benchmarks.compare_tasks.drivers import Driver
from benchmarks.compare_tasks.person import Answer, Person, TaskResult

_FILTER = "Filter runs (regex)"


class TensorBoardDriver(Driver):
    """Time series with a regular expression for runs; the table of HParams."""

    def home(self, person: Person) -> None:
        person.open(f"{self.address}/#timeseries")
        person.see(person.page.get_by_text("run-000"))
        person.see(person.page.locator("line-chart"))

    def overlay(self, person: Person) -> TaskResult:
        page = person.page
        person.click(page.get_by_role("textbox", name=_FILTER))
        person.type("017|118")
        expect(page.get_by_text("run-000")).to_have_count(0)
        # the table below the chart has a value of each run
        person.see(page.locator("card-view").get_by_text("run-118"))
        return person.result(Answer.YES, "a regular expression for runs")

    def settings(self, person: Person) -> TaskResult:
        return TaskResult(
            Answer.NOT_DRIVEN,
            "nearest: HPARAMS, by eye: 15 settings to tick, all runs, equal settings, too",
        )

    def better(self, person: Person) -> TaskResult:
        return TaskResult(
            Answer.NO, "x is step, relative or wall time; nearest: curves by step, which have other tokens"
        )

    def find(self, person: Person) -> TaskResult:
        return TaskResult(
            Answer.NOT_DRIVEN,
            "HPARAMS can sort by a setting, by eye",
        )

    def send(self, person: Person, colleague: Page) -> TaskResult:
        address = person.copy_address()
        colleague.goto(address, wait_until="commit")
        expect(colleague.get_by_text("run-118").first).to_be_visible()
        expect(colleague.get_by_text("run-000")).to_have_count(0)
        return person.result(Answer.YES, "the address; the server has no access control")
