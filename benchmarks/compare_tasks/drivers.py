"""What every driver does: tasks in the best documented way of its tool."""

from __future__ import annotations

from abc import ABC, abstractmethod

from playwright.sync_api import Page

from benchmarks.compare_tasks.person import Person, TaskResult


class Driver(ABC):
    """Does the tasks in one tool. The first starts at the list of runs; 2, 3 and 5 go on from the first."""

    def __init__(self, address: str) -> None:
        self.address = address

    @abstractmethod
    def home(self, person: Person) -> None:
        """Open the list of runs."""

    @abstractmethod
    def overlay(self, person: Person) -> TaskResult:
        """The losses of two runs in one chart."""

    @abstractmethod
    def settings(self, person: Person) -> TaskResult:
        """The settings in which they differ, and no others."""

    @abstractmethod
    def better(self, person: Person) -> TaskResult:
        """Which of them has the lower loss at equal tokens."""

    @abstractmethod
    def find(self, person: Person) -> TaskResult:
        """All runs with a learning rate of 3e-4; starts at the list of runs."""

    @abstractmethod
    def send(self, person: Person, colleague: Page) -> TaskResult:
        """What is seen, in a browser that has not been here."""
