"""The tasks in TensorBoard."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from benchmarks.compare_tasks.drivers import Driver
from benchmarks.compare_tasks.person import Answer, Person, TaskResult

_FILTER = "Filter runs (regex)"


class TensorBoardDriver(Driver):
    """Time series with a regular expression and columns for runs; the filters of HParams."""

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
        page = person.page
        person.click(page.get_by_title("Add Column").first)
        columns = page.locator("tb-data-table-column-selector-component")
        while True:  # those that differ are first, and marked
            person.see(columns.get_by_text("columns loaded"))
            marked = columns.get_by_text("differs").count()
            if marked == 0:
                break
            person.press("Enter")
            expect(columns.get_by_text("differs")).to_have_count(marked - 1)
        person.press("Escape")
        for name in ("global_batch_size", "lr", "seed", "warmup_steps"):
            person.see(page.locator("card-view").get_by_text(name))
        return person.result(
            Answer.BY_EYE,
            "columns of the list of runs, also below each chart; marked are those that differ in any of the "
            "200 runs, here the same",
        )

    def better(self, person: Person) -> TaskResult:
        return TaskResult(
            Answer.NO, "x is step, relative or wall time; nearest: curves by step, which have other tokens"
        )

    def find(self, person: Person) -> TaskResult:
        page = person.page
        person.click(page.get_by_role("tab", name="HPARAMS"))
        setting = page.locator("tf-hparams-query-pane .hparam", has=page.get_by_text("lr", exact=True))
        person.click(setting.get_by_label("Min"))
        person.type("3e-4")
        person.press("Tab")
        person.type("3e-4")
        person.press("Enter")
        expect(page.locator("tf-hparams-table-view").get_by_text("run-000")).to_have_count(0)
        person.see(page.locator("tf-hparams-table-view").get_by_text("run-017"))
        return person.result(Answer.YES, "HPARAMS, least and largest value of the setting")

    def send(self, person: Person, colleague: Page) -> TaskResult:
        address = person.copy_address()
        colleague.goto(address, wait_until="commit")
        expect(colleague.get_by_text("run-118").first).to_be_visible()
        expect(colleague.get_by_text("run-000")).to_have_count(0)
        return person.result(Answer.YES, "the address; the server has no access control")
