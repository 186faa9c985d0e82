"""Stands for the process that draws pictures: answers with its number, ends, fails or hangs as asked."""

from __future__ import annotations

import os
import sys
import time

from holter.server.rendering.picture_process import read_block, write_block


def main() -> None:
    """Answer until the input ends."""
    while (request := read_block(sys.stdin.buffer)) is not None:
        if request == b"fail":
            sys.exit(3)
        if request == b"hang":
            time.sleep(60)
        write_block(sys.stdout.buffer, str(os.getpid()).encode())
        if request == b"the last":
            return


if __name__ == "__main__":
    main()
