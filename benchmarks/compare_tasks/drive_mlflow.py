"""The tasks in MLflow."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from benchmarks.compare_tasks.drivers import Driver
from benchmarks.compare_tasks.person import Answer, Person, TaskResult

_SEARCH = "metrics.rmse < 1 and params.model"


class MlflowDriver(Driver):
    """The list of runs with its search and its charts, and the page that compares selected runs."""

    def home(self, person: Person) -> None:
        person.open(f"{self.address}/#/experiments/1/runs")
        person.see(person.page.get_by_role("link", name="run-199"))

    def overlay(self, person: Person) -> TaskResult:
        page = person.page
        self._search(person, "run_name LIKE '%1_'")  # there is neither IN nor OR for names
        person.see(page.get_by_text("20 matching runs"))
        for name in ("run-118", "run-017"):
            row = self._row(person, name)
            person.click(row.locator("input[type=checkbox]").first)
        person.click(page.get_by_role("button", name="Compare").first)
        person.click(page.get_by_role("link", name="loss", exact=True).first)
        person.see(page.locator(".js-plotly-plot .scatterlayer"))
        return person.result(Answer.YES, "a pattern that both names match, two ticks, Compare, the metric")

    def settings(self, person: Person) -> TaskResult:
        page = person.page
        person.actions += 1
        page.go_back()
        person.click(page.get_by_text("Show diff only").first)
        person.see(page.get_by_text("warmup_steps"))
        return person.result(Answer.YES, "the page Compare, only what differs")

    def better(self, person: Person) -> TaskResult:
        page = person.page
        person.actions += 1
        page.go_back()  # to the list: the chart of compared runs has step or time as x
        person.click(page.locator("label", has=page.locator("input[value=CHART]")).first)
        person.click(page.get_by_test_id("experiment-view-runs-visibility-column-header"))
        person.click(page.get_by_text("Hide all runs"))
        for name in ("run-118", "run-017"):
            eye = page.locator("label", has=page.locator(".is-visibility-toggle-checkbox"))
            person.click(self._row(person, name).locator(eye))
        person.click(page.get_by_label("Configure charts"))
        person.click(page.get_by_role("menuitem", name="Metric"))
        person.click(page.get_by_role("menuitemcheckbox", name="tokens"))
        person.see(page.get_by_text("run-017 (loss)"))
        person.see(page.locator(".g-xtitle").get_by_text("tokens"))
        return person.result(
            Answer.BY_EYE,
            "charts of the list, all runs hidden but two, a metric as x; no figure, and no interval",
        )

    def find(self, person: Person) -> TaskResult:
        page = person.page
        self._search(person, "params.lr='0.0003'")
        person.see(page.get_by_text("40 matching runs"))
        return person.result(Answer.YES, "the search; settings are text, written as it was logged: 0.0003")

    def send(self, person: Person, colleague: Page) -> TaskResult:
        address = person.copy_address()
        colleague.goto(address, wait_until="commit")
        expect(colleague.get_by_text("run-118").first).to_be_visible()
        return person.result(Answer.YES, "the address; the server must be reachable")

    def _search(self, person: Person, text: str) -> None:
        person.click(person.page.get_by_placeholder(_SEARCH).first)
        person.type(text)
        person.press("Enter")

    def _row(self, person: Person, name: str) -> Locator:
        row = person.page.locator("[role=row]", has=person.page.get_by_role("link", name=name)).first
        person.see(row)
        return row
