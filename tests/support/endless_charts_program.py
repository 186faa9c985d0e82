"""`holter` whose charts never end: `python -m tests.support.endless_charts_program serve ...`."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

from holter.cli.main import main
from holter.server.api import charts


def never_return(*_: Any, **__: Any) -> None:
    """Say that it has begun, then occupy the thread, which nothing can interrupt."""
    os.write(sys.stdout.fileno(), b"computing\n")
    threading.Event().wait()


if __name__ == "__main__":
    charts.read_limited_chart = never_return  # type: ignore[assignment]
    sys.exit(main())
