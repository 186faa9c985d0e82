"""The results as tables."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.compare_tasks.person import Answer, TaskResult

DOCUMENT = Path(__file__).parents[2] / "docs" / "measurements" / "compare.md"
TASKS = {
    "overlay": "overlay two of 200 runs",
    "settings": "what differs in their settings",
    "better": "which is better at equal tokens",
    "find": "all runs with lr = 3e-4",
    "send": "send a colleague what I see",
}
_BEGIN, _END = "<!-- measured: compare tasks -->\n", "\n<!-- end: compare tasks -->"


class ToolResult(NamedTuple):
    """The tasks in one tool. `load`: the load average of the machine meanwhile."""

    name: str
    version: str
    load: float
    tasks: Mapping[str, TaskResult]


def save(folder: Path, result: ToolResult) -> None:
    """Store a result in a folder."""
    tasks = {name: each._asdict() for name, each in result.tasks.items()}
    file = folder / f"{result.name}.result.json"
    file.write_text(json.dumps({**result._asdict(), "tasks": tasks}))


def load(names: Iterable[str], folder: Path) -> list[ToolResult]:
    """The stored results of these tools."""
    results = []
    for name in names:
        file = folder / f"{name}.result.json"
        if file.exists():
            stored = json.loads(file.read_text())
            tasks = {
                task: TaskResult(**{**each, "answer": Answer(each["answer"])})
                for task, each in stored["tasks"].items()
            }
            results.append(ToolResult(stored["name"], stored["version"], stored["load"], tasks))
    return results


def table(results: Sequence[ToolResult]) -> str:
    """A table of figures and one of remarks, in Markdown."""
    heads = [f"{result.name} {result.version}" for result in results]
    lines = [f"| | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for task, title in TASKS.items():
        lines.append(f"| {title} | {' | '.join(_cell(result.tasks[task]) for result in results)} |")
    lines.append(f"| load average | {' | '.join(f'{result.load:.0f}' for result in results)} |")
    lines += ["", "| task | tool | how, or why not |", "|---|---|---|"]
    for task, title in TASKS.items():
        lines += [f"| {title} | {result.name} | {result.tasks[task].remark} |" for result in results]
    today = datetime.datetime.now(tz=datetime.UTC).date()
    lines += ["", f"Written on {today:%-d %B %Y}, two cores."]
    return "\n".join(lines)


def _cell(result: TaskResult) -> str:
    if result.answer in (Answer.NO, Answer.NOT_DRIVEN):
        return result.answer.value
    counted = f"{result.actions} + {result.typed}, {result.seconds:.1f} s"
    return counted if result.answer is Answer.YES else f"{counted}, by eye"


def write(text: str) -> None:
    """Replace the tables in the document."""
    document = DOCUMENT.read_text()
    begin, end = document.index(_BEGIN) + len(_BEGIN), document.index(_END)
    DOCUMENT.write_text(document[:begin] + "\n" + text + "\n" + document[end:])
