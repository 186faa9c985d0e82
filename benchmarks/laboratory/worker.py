"""Trains and writes some runs; started by `environment.py` with the Python that has torch.

python benchmarks/laboratory/worker.py LIST SEED FOLDER INDEX...
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])

from laboratory.files import write_run  # noqa: E402  (the path is set above)
from laboratory.plan import draw  # noqa: E402
from laboratory.training.experiment import record  # noqa: E402


def main() -> None:
    """Write each run into a hidden folder and rename it once complete, so that none is half written."""
    list_name, seed, folder, *indices = sys.argv[1:]
    for index in indices:
        plan = draw(list_name, int(seed), int(index))
        target, started = Path(folder) / plan.name, time.process_time()
        if target.exists():
            continue
        part = target.with_name(f".{plan.name}")
        for old in sorted(part.glob("*")):
            old.unlink()
        if part.exists():
            part.rmdir()
        write_run(record(plan), part)
        part.rename(target)
        print(
            f"{plan.name} {plan.mechanism.name} {plan.model}: {time.process_time() - started:.1f} s",
            file=sys.stderr,
        )


if __name__ == "__main__":
    main()
