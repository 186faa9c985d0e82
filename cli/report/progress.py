"""A progress line for long commands, shown only in a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from holter.terminal_text import printable


@contextmanager
def progress(what: str, unit: str = "") -> Iterator[Callable[..., None]]:
    """Show a progress line on standard error while the context is active.

    Yields a function to be called with the amount done so far, and a new description where `what` changes.
    """
    done = [TextColumn("{task.completed:,.0f} " + unit)] if unit else []
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), *done, TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(printable(what), total=None)
        yield lambda done, description=what: bar.update(
            task, completed=done, description=printable(description)
        )
