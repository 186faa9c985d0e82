"""`python -m holter`: the command line of holter.cli."""

from __future__ import annotations

import sys

from holter.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
