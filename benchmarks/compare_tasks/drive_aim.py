"""The tasks in Aim."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from benchmarks.compare_tasks.drivers import Driver
from benchmarks.compare_tasks.person import Answer, Person, TaskResult

_CURVES = "svg path.Line, svg .Lines path, path[class*=Line]"


class AimDriver(Driver):
    """The metrics explorer and the runs explorer, both with a query."""

    def home(self, person: Person) -> None:
        person.open(f"{self.address}/metrics")
        skip = person.page.get_by_text("Skip")
        person.see(skip)
        skip.click()

    def overlay(self, person: Person) -> TaskResult:
        page = person.page
        person.click(page.get_by_role("button", name="Metrics").last)
        person.click(page.get_by_text("loss", exact=True).last)
        person.press("Escape")
        person.click(page.locator(".monaco-editor").first)
        person.type("run.name in ['run-017','run-118'")  # the editor closes the bracket
        person.press("End")
        person.click(page.get_by_role("button", name="Search"))
        expect(page.locator(_CURVES).nth(1)).to_be_attached()
        return person.result(Answer.YES, "a metric and a query")

    def settings(self, person: Person) -> TaskResult:
        page = person.page
        person.click(page.get_by_text("Show Table Diff"))
        box = page.locator("[class*=Table] input[type=checkbox]").nth(1).bounding_box()
        assert box is not None
        person.actions += 1  # the arrow before the check box of the group unfolds its two rows
        page.mouse.click(box["x"] - 14, box["y"] + box["height"] / 2)
        person.scroll(page.get_by_text("Mixed: 2 values").first, 0)
        for _ in range(3):  # the settings are to the right of the window
            page.mouse.wheel(700, 0)
            page.wait_for_timeout(300)
        person.actions += 2
        expect(page.get_by_text("warmup_steps").first).to_be_in_viewport()
        return person.result(Answer.YES, "the table below the chart, columns with equal values hidden")

    def better(self, person: Person) -> TaskResult:
        page = person.page
        person.click(page.locator(".Controls__anchor").nth(1))
        box = page.get_by_text(re.compile("x axis alignment", re.IGNORECASE)).last.bounding_box()
        assert box is not None
        person.actions += 1  # the list below this heading
        page.mouse.click(box["x"] + 60, box["y"] + 36)
        person.click(page.get_by_text("tokens", exact=True).filter(visible=True).last)
        person.press("Escape")
        person.see(page.get_by_text("Processing"))
        expect(page.get_by_text("Processing")).to_have_count(0)
        expect(page.locator(_CURVES).nth(1)).to_be_attached()
        person.see(page.locator("svg text", has_text="tokens"))  # the title of the axis
        return person.result(Answer.BY_EYE, "curves by tokens; no figure, and no interval")

    def find(self, person: Person) -> TaskResult:
        page = person.page
        person.click(page.get_by_role("link", name="Runs").first)
        person.click(page.locator(".monaco-editor").first)
        person.type("run.lr == 3e-4")
        person.click(page.get_by_role("button", name="Search"))
        person.see(page.get_by_text("run-002"))
        return person.result(Answer.YES, "a query")

    def send(self, person: Person, colleague: Page) -> TaskResult:
        address = person.copy_address()
        colleague.goto(address, wait_until="commit")
        expect(colleague.locator(_CURVES).nth(1)).to_be_attached()
        return person.result(Answer.YES, "the address; the server has no access control")
