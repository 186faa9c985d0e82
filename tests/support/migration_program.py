"""Run as a program: brings a database to its tables, and dies by kill -9 before its statement number N.

    python migration_program.py DATABASE_URL N…

One process for each N; 0 stands for the moment before everything is committed. Prints how each has ended.
"""

from __future__ import annotations

import os
import signal
import sys
from itertools import count

from sqlalchemy import event

from holter.server.database import connect
from holter.server.migrate import upgrade


def migrate(url: str, last: int) -> None:
    engine = connect(url)
    statements = count(1)

    def die(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def count_down(*_: object) -> None:
        if next(statements) == last:
            die()

    event.listen(engine, "before_cursor_execute", count_down)
    if not last:
        event.listen(engine, "commit", die)
    upgrade(engine)
    os._exit(0)


if __name__ == "__main__":
    for moment in sys.argv[2:]:
        child = os.fork()
        if not child:
            migrate(sys.argv[1], int(moment))
        sys.stdout.write(f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\n")
        sys.stdout.flush()
