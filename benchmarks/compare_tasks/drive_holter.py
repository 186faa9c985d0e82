"""The tasks in Holter."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from benchmarks.compare_tasks.drivers import Driver
from benchmarks.compare_tasks.person import Answer, Person, TaskResult

_PLOT = ".plot[data-drawn]"


class HolterDriver(Driver):
    """The page Compare; the filter of the overview."""

    def home(self, person: Person) -> None:
        person.open(self.address)
        person.see(person.page.get_by_text("run-199"))

    def overlay(self, person: Person) -> TaskResult:
        page = person.page
        person.click(page.get_by_role("link", name="Compare").first)
        person.see(page.get_by_role("combobox", name="Add a run"))
        person.type("017,118")
        person.see(page.locator("#found-runs").get_by_text("run-017, run-118"))
        person.press("Enter")
        person.see(page.locator(_PLOT))
        for name in ("017", "118"):
            person.see(page.locator(".compared-runs").get_by_text(f"run-{name}"))
        return person.result(Answer.YES, "page Compare, parts of two names")

    def settings(self, person: Person) -> TaskResult:
        page = person.page
        for name in ("learning_rate", "global_batch_size", "warmup_steps", "seed"):
            person.see(page.locator(".difference-table").get_by_text(name, exact=True))
        return person.result(Answer.YES, "on the same page, without what is equal")

    def better(self, person: Person) -> TaskResult:
        page = person.page
        person.click(page.get_by_role("button", name="Compare at equal tokens"))
        person.see(page.locator(".compare-statistics").get_by_text(re.compile("loss .* tokens")))
        return person.result(
            Answer.YES,
            "a sentence with an interval, here that these logs show no difference",
        )

    def find(self, person: Person) -> TaskResult:
        page = person.page
        person.press("/")
        person.type("lr=3e-4")
        person.see(page.get_by_text("40 of 200 runs"))
        return person.result(Answer.YES, "the filter")

    def send(self, person: Person, colleague: Page) -> TaskResult:
        address = person.copy_address()
        colleague.goto(address, wait_until="commit")
        expect(colleague.locator(_PLOT).first).to_be_visible()
        expect(colleague.locator(".compared-runs").get_by_text("run-118").first).to_be_visible()
        return person.result(
            Answer.YES, "the address; a read-only link with an end date is three clicks more"
        )
