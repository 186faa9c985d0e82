"""Runs the package as one command: python benchmarks/laboratory measure --list development --seed 7."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])

from laboratory.command import main  # noqa: E402  (the path is set above)

if __name__ == "__main__":
    main()
