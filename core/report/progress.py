"""How far something long has come, for who watches a terminal; others are not told."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


@contextmanager
def progress(what: str, unit: str = "", *, total: float | None = None) -> Iterator[Callable[[float], None]]:
    """A line on the terminal while the context lasts; who calls says how much is done in all."""
    columns = (
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:,.0f} " + unit),
        TimeElapsedColumn(), TimeRemainingColumn(),
    )  # fmt: skip
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty()) as shown:
        task = shown.add_task(what, total=total)
        yield lambda done: shown.update(task, completed=done)
