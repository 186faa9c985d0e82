"""Ends a process together with those that it has started."""

from __future__ import annotations

from contextlib import suppress

import psutil


def kill_tree(pid: int) -> None:
    """Kill a process and all its descendants; wait until they have ended. The parent collects the status."""
    try:
        process = psutil.Process(pid)
        processes = [*process.children(recursive=True), process]
    except psutil.NoSuchProcess:
        return
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(processes[:-1], timeout=60)
