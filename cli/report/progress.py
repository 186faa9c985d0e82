"""How far something long has come, for who watches a terminal; others are not told."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn


@contextmanager
def progress(what: str, unit: str = "") -> Iterator[Callable[..., None]]:
    """A line on the terminal while the context lasts.

    Call what it yields with how much is done in all, and with other words for `what` where it is that now.
    """
    done = [TextColumn("{task.completed:,.0f} " + unit)] if unit else []
    columns = (TextColumn("{task.description}"), BarColumn(), *done, TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty()) as shown:
        task = shown.add_task(what, total=None)
        yield lambda done, now=what: shown.update(task, completed=done, description=now)
