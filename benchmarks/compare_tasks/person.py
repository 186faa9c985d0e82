"""A person at a browser: what is done is counted, and the time until something is visible is taken."""

from __future__ import annotations

import os
import time
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Locator, Page, expect

SECONDS = float(os.environ.get("COMPARE_TASKS_SECONDS", "90"))
"""Until something that is waited for counts as missing."""

_IS_IN_WINDOW = """element => new Promise((resolve) => {
    let last = NaN;
    function look() {
        const { top, bottom } = element.getBoundingClientRect();
        if (top === last) resolve(top + bottom > 0 && top + bottom < 2 * innerHeight);
        last = top;
        setTimeout(look, 50); // what loads above it moves it
    }
    look();
})"""


class Answer(StrEnum):
    """Whether a tool answers a question."""

    YES = "yes"
    BY_EYE = "by eye"
    """It shows what the answer follows from; the person judges."""
    NO = "no"
    NOT_DRIVEN = "not driven"
    """There is a way, which the driver does not go."""


class TaskResult(NamedTuple):
    """How a task went: actions (clicks, turns of the wheel, keys for commands), characters typed, page loads.

    `remark`: how it was done, or why it cannot be.
    """

    answer: Answer
    remark: str
    actions: int = 0
    typed: int = 0
    loads: int = 0
    seconds: float = 0.0


class Person:
    """Uses a page with mouse and keyboard."""

    def __init__(self, page: Page, pictures: Path | None = None) -> None:
        self.page = page
        self._pictures = pictures
        page.set_default_timeout(1000 * SECONDS)
        expect.set_options(timeout=1000 * SECONDS)
        self.begin()

    def begin(self) -> None:
        """Count from zero."""
        self.actions = self.typed = self.loads = 0
        self._began = time.perf_counter()

    def result(self, answer: Answer, remark: str) -> TaskResult:
        """What was done since the beginning."""
        seconds = time.perf_counter() - self._began
        return TaskResult(answer, remark, self.actions, self.typed, self.loads, seconds)

    def open(self, address: str) -> None:
        """Load a page."""
        self.loads += 1
        self.page.goto(address, wait_until="commit")

    def click(self, target: Locator) -> None:
        """Click on something, after a turn of the wheel if it is above or below the window."""
        self.actions += 1 if target.evaluate(_IS_IN_WINDOW) else 2
        target.click()

    def choose(self, target: Locator, value: str) -> None:
        """Open a list and choose an entry."""
        self.actions += 2
        target.select_option(value)

    def press(self, key: str) -> None:
        """Press a key that commands something."""
        self.actions += 1
        self.page.keyboard.press(key)

    def type(self, text: str) -> None:
        """Type characters."""
        self.typed += len(text)
        self.page.keyboard.type(text)

    def scroll(self, target: Locator, pixels: int) -> None:
        """Turn the wheel over something."""
        self.actions += 1
        target.hover()
        self.page.mouse.wheel(0, pixels)

    def copy_address(self) -> str:
        """Copy the address of the page: Ctrl-L, Ctrl-C."""
        self.actions += 2
        return self.page.url

    def see(self, target: Locator) -> None:
        """Wait until something is visible."""
        expect(target.filter(visible=True).first).to_be_visible()

    def picture(self, name: str) -> None:
        """Save the window as a picture, to be looked at."""
        if self._pictures is not None:
            self.page.screenshot(path=self._pictures / f"{name}.png", timeout=120_000)
