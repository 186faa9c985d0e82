"""The tasks in Trackio."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from benchmarks.compare_tasks.drivers import Driver
from benchmarks.compare_tasks.person import Answer, Person, TaskResult


class TrackioDriver(Driver):
    """The dashboard with its filter of runs, its comparer, and its table of runs."""

    def home(self, person: Person) -> None:
        person.open(self.address)
        person.see(person.page.get_by_text("run-199"))

    def overlay(self, person: Person) -> TaskResult:
        page = person.page
        person.click(page.get_by_placeholder("Type to filter..."))
        person.type("017|118")
        expect(page.get_by_text("run-199")).to_have_count(0)
        person.see(page.locator(".vega-embed, svg.marks, canvas.marks, canvas"))
        return person.result(Answer.YES, "a regular expression for runs")

    def settings(self, person: Person) -> TaskResult:
        page = person.page
        person.click(page.get_by_text("Show run comparer"))
        person.see(page.get_by_text("warmup_steps"))
        return person.result(Answer.YES, "the comparer")

    def better(self, person: Person) -> TaskResult:
        return TaskResult(Answer.BY_EYE, "not driven yet")

    def find(self, person: Person) -> TaskResult:
        return TaskResult(Answer.BY_EYE, "not driven yet")

    def send(self, person: Person, colleague: Page) -> TaskResult:
        address = person.copy_address()
        colleague.goto(address, wait_until="commit")
        expect(colleague.get_by_text("run-118").first).to_be_visible()
        expect(colleague.get_by_text("run-199")).to_have_count(0)
        return person.result(Answer.YES, "the address")
