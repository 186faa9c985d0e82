"""The results as tables."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path

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


def table(results: Mapping[str, tuple[str, Mapping[str, TaskResult]]], *, load: float) -> str:
    """A table of figures and one of remarks, in Markdown."""
    heads = [f"{name} {version}" for name, (version, _) in results.items()]
    lines = [f"| | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for task, title in TASKS.items():
        cells = [_cell(outcomes[task]) for _, outcomes in results.values()]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    lines += ["", "| task | tool | how, or why not |", "|---|---|---|"]
    for task, title in TASKS.items():
        for name, (_, outcomes) in results.items():
            lines.append(f"| {title} | {name} | {outcomes[task].remark} |")
    today = datetime.datetime.now(tz=datetime.UTC).date()
    lines += ["", f"Measured on {today:%-d %B %Y}; load average of two cores {load:.1f}."]
    return "\n".join(lines)


def _cell(result: TaskResult) -> str:
    if result.answer is Answer.NO:
        return "no"
    counted = f"{result.actions} + {result.typed}, {result.seconds:.1f} s"
    return counted if result.answer is Answer.YES else f"{counted}, by eye"


def write(text: str) -> None:
    """Replace the tables in the document."""
    document = DOCUMENT.read_text()
    begin, end = document.index(_BEGIN) + len(_BEGIN), document.index(_END)
    DOCUMENT.write_text(document[:begin] + "\n" + text + "\n" + document[end:])
