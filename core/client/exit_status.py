"""How this process ends: because its work is done, or because something went wrong."""

from __future__ import annotations

import sys
import threading
from typing import NoReturn


class Ending:
    """Remembers what `sys.exit` is called with, for at exit nothing else tells of it.

    `raise SystemExit(1)` goes past it, and so does the builtin `exit`: they pass for a normal end.
    """

    def __init__(self) -> None:
        self._exit = sys.exit
        self._code: object = None
        self._watching = False

    def watch(self) -> None:
        """Look at calls of `sys.exit` from now on. A second call changes nothing."""
        if not self._watching:
            self._watching = True
            self._exit, sys.exit = sys.exit, self._note

    def in_order(self) -> bool:
        """At exit: whether no exception ended this interpreter, and no exit code tells of a failure."""
        failed = isinstance(self._code, str) or bool(self._code)
        return not failed and not hasattr(sys, "last_value")  # Python sets it for what nobody caught

    def _note(self, code: object = None, /) -> NoReturn:
        if threading.current_thread() is threading.main_thread():  # elsewhere it ends the thread alone
            self._code = code
        self._exit(code)  # type: ignore[arg-type]
