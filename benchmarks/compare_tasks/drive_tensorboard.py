"""The tasks in TensorBoard."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from benchmarks.compare_tasks.drivers import Driver
from benchmarks.compare_tasks.person import Answer, Person, TaskResult

_FILTER = "Filter runs (regex)"
_UNLISTED = (
    "global_batch_size", "grad_clip", "hidden_size", "lr", "num_heads", "num_layers", "optimizer",
    "precision", "schedule", "seed", "seq_length", "train_steps", "vocab_size", "warmup_steps",
    "weight_decay",
)  # fmt: skip


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
        page = person.page
        person.click(page.get_by_text("HPARAMS"))
        person.see(page.get_by_text("run-017"))
        for name in _UNLISTED:
            person.click(page.get_by_text(name, exact=True).filter(visible=True).first)
        table = page.get_by_text("fineweb").filter(visible=True).first
        for _ in range(5):  # a table of 200 rows
            person.scroll(table, 930)
            page.wait_for_timeout(300)
        person.see(page.get_by_text("run-118"))
        return person.result(
            Answer.BY_EYE,
            "HPARAMS lists all 200 runs with all ticked settings: rows are found by eye",
        )

    def better(self, person: Person) -> TaskResult:
        return TaskResult(
            Answer.NO, "x is step, relative or wall time; nearest: curves by step, which have other tokens"
        )

    def find(self, person: Person) -> TaskResult:
        return TaskResult(
            Answer.NOT_DRIVEN,
            "HPARAMS sorts by a ticked column, and limits one whose values the writer has declared",
        )

    def send(self, person: Person, colleague: Page) -> TaskResult:
        address = person.copy_address()
        colleague.goto(address, wait_until="commit")
        expect(colleague.get_by_text("run-118").first).to_be_visible()
        expect(colleague.get_by_text("run-000")).to_have_count(0)
        return person.result(Answer.YES, "the address; the server has no access control")
