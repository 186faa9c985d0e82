"""The tasks in Trackio."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from benchmarks.compare_tasks.drivers import Driver
from benchmarks.compare_tasks.person import Answer, Person, TaskResult

_EVERY = re.compile(r"^Runs \(\d+\)$")


class TrackioDriver(Driver):
    """The dashboard with its filter of runs, its comparer, and its table of runs."""

    def home(self, person: Person) -> None:
        person.open(self.address)
        person.see(person.page.get_by_text("run-199"))
        person.see(person.page.get_by_text("charts (2)"))  # of all 200 runs, which are chosen at first

    def overlay(self, person: Person) -> TaskResult:
        page = person.page
        everything = page.get_by_text(_EVERY)
        person.click(everything)  # the filter hides entries of the list, it does not take them off the chart
        person.click(page.get_by_placeholder("Type to filter..."))
        person.type("017|118")
        person.see(page.get_by_text("Runs (2)"))
        person.click(everything)
        expect(page.get_by_text("more", exact=False).filter(has_text="194")).to_have_count(0)
        person.see(page.get_by_text("charts (2)"))
        return person.result(Answer.YES, "all runs off, a regular expression for runs, all of those on")

    def settings(self, person: Person) -> TaskResult:
        page = person.page
        person.click(page.get_by_text("Show run comparer"))
        person.click(page.get_by_text("Diff only"))
        person.see(page.get_by_text("warmup_steps"))
        expect(page.get_by_text("beta1")).to_have_count(0)
        return person.result(Answer.YES, "the comparer, only what differs")

    def better(self, person: Person) -> TaskResult:
        page = person.page
        self._choose(person, "X-axis", "tokens")
        person.see(page.get_by_text("charts (1)"))  # the chart of tokens is gone
        return person.result(Answer.BY_EYE, "tokens as x; no figure, and no interval")

    def find(self, person: Person) -> TaskResult:
        page = person.page
        self._choose(person, "Group by", "lr")
        group = page.locator(".run-group-section", has=page.get_by_title("0.0003", exact=True))
        person.see(group.get_by_text("(40)"))
        person.actions += 1  # the wheel: the group is the third, below 80 names
        group.scroll_into_view_if_needed()
        expect(group.get_by_text("run-002")).to_be_attached()
        return person.result(
            Answer.YES, "runs grouped by the setting, a group of 40; the chart has every group"
        )

    def send(self, person: Person, colleague: Page) -> TaskResult:
        address = person.copy_address()
        colleague.goto(address, wait_until="commit")
        expect(colleague.get_by_text("charts (2)")).to_be_visible()
        chosen = colleague.get_by_text("run-199").count() == 0
        remark = (
            "the address does not have the chosen runs: a colleague sees all 200; a link to what is seen "
            "exists on Hugging Face Spaces only"
        )
        return person.result(Answer.YES if chosen else Answer.NO, remark)

    def _choose(self, person: Person, label: str, option: str) -> None:
        person.click(person.page.get_by_label(label, exact=True))
        person.click(person.page.get_by_role("option", name=option, exact=True))
