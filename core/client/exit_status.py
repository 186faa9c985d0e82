"""Detects whether this process exits normally or because of an error."""

from __future__ import annotations

import sys
import threading
from typing import NoReturn


class ExitStatus:
    """Records the argument of `sys.exit`, which is not available otherwise at exit.

    `raise SystemExit(1)` and the builtin `exit` bypass it and count as a normal end.
    """

    def __init__(self) -> None:
        self._exit = sys.exit
        self._code: object = None
        self._installed = False

    def install(self) -> None:
        """Wrap `sys.exit`. Calling this again has no effect."""
        if not self._installed:
            self._installed = True
            self._exit, sys.exit = sys.exit, self._record

    def succeeded(self) -> bool:
        """Return, at exit, whether no uncaught exception and no non-zero exit code ended this interpreter."""
        failed = isinstance(self._code, str) or bool(self._code)
        return not failed and not hasattr(sys, "last_value")  # set by Python for uncaught exceptions

    def _record(self, code: object = None, /) -> NoReturn:
        if threading.current_thread() is threading.main_thread():  # in other threads it ends only the thread
            self._code = code
        self._exit(code)  # type: ignore[arg-type]
