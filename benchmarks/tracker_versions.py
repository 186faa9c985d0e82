"""Measures versions of a tracker's client while things fail: the part that all trackers share."""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.tracker_host import TrackerHost, tracker_host
from tests.support.tracker_trainings import TrackerOutcome


@dataclass(frozen=True, kw_only=True)
class TrackerVersions:
    """The versions of a client, and the scenarios that each is measured in.

    `trainings` makes those of a version and a scenario, given a server and a folder; `rows` is the heading of
    what is sent.
    """

    tracker: str
    rows: str
    versions: Sequence[str]
    scenarios: Mapping[str, Callable[[Any], TrackerOutcome]]
    install: Callable[[str], Path]
    trainings: Callable[[TrackerHost, Path, str, str], Any]


def main(measured: TrackerVersions, description: str | None) -> int:
    """Print a row for each version and scenario. Exit code 1 where a version lost or repeated something."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--versions", nargs="*", default=measured.versions)
    parser.add_argument(
        "--only", nargs="*", default=tuple(measured.scenarios), choices=tuple(measured.scenarios)
    )
    arguments = parser.parse_args()
    for version in arguments.versions:
        measured.install(version)
    rows: list[str] = []
    sent = f"{measured.rows} sent | {measured.rows} stored"
    print(f"| {measured.tracker} | scenario | {sent} | exact | attempts | seconds | notes |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        workers = [
            threading.Thread(
                target=_measure, args=(measured, version, arguments.only, Path(folder) / version, rows)
            )
            for version in arguments.versions
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    return 1 if any("| NO |" in row for row in rows) else 0


def _measure(
    measured: TrackerVersions, version: str, scenarios: Sequence[str], folder: Path, rows: list[str]
) -> None:
    """Run scenarios of one version on a server of its own."""
    with tracker_host(folder / "server") as host:
        for scenario in scenarios:
            began = time.monotonic()
            trainings = measured.trainings(host, folder / scenario, version, scenario)
            try:
                outcome = measured.scenarios[scenario](trainings)
            except Exception as error:  # the others go on
                host.proxy.heal()
                text = " ".join(f"{type(error).__name__}: {error}".split())[-200:]
                outcome = TrackerOutcome(sent=-1, stored=-1, exact=False, attempts=-1, note=text)
            cells = (
                version, scenario, outcome.sent, outcome.stored, "yes" if outcome.exact else "NO",
                outcome.attempts, f"{time.monotonic() - began:.0f}", outcome.note,
            )  # fmt: skip
            rows.append("| " + " | ".join(map(str, cells)) + " |")
            print(rows[-1], flush=True)
