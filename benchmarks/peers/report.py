"""The tables of the comparison: medians, ratios to Holter in the same run, and the machine."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from peers.roster import PeerSpec
from peers.workloads import WORKLOADS

_QUERIES = (
    ("one series", "R20", "one series of 10,000 points, all of them"),
    ("20 series", "R20", "20 series x 10,000 points, 1,000 of each"),
    ("20 series", "L1M", "one series of 1,000,000 points, 1,000 of them"),
    ("last values", "W2", "last values of 10,000 series"),
)

Measured = Mapping[tuple[str, str], list[dict[str, Any]]]


def describe_machine() -> str:
    """Cores, memory, system, Python version and load of this machine, in one line."""
    model = next(
        (line.partition(":")[2].strip() for line in _lines(Path("/proc/cpuinfo")) if "model name" in line),
        platform.processor(),
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    load = " ".join(f"{average:.1f}" for average in os.getloadavg())
    return (
        f"{os.cpu_count()} cores ({model}), {memory:.0f} GiB, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}; load before: {load}"
    )


def report(
    measured: Measured,
    unavailable: Mapping[str, str],
    roster: Iterable[PeerSpec],
    machine: str,
    *,
    minutes: float,
    scale: float,
) -> str:
    """All tables as Markdown, with the reasons of missing measurements."""
    names = [peer.name for peer in roster if any(name == peer.name for name, _ in measured)]
    parts = [f"{machine}. {minutes:.0f} minutes." + (f" {scale:g} of the points." if scale != 1 else "")]
    written = [name for name in WORKLOADS if any(workload == name for _, workload in measured)]
    if written:
        parts.append("\n".join(_writing(measured, names, written)))
        parts.append("\n".join(_reading(measured, names)))
    loaded = sorted({workload for _, workload in measured if workload.startswith("events")})
    if loaded:
        parts.append("\n".join(_loading(measured, names, loaded)))
    missing = [f"- {name} could not be installed: {reason}" for name, reason in unavailable.items()]
    missing += [
        f"- {name}, {workload}: {measurement['failed']}"
        for (name, workload), rounds in measured.items()
        for measurement in rounds
        if "failed" in measurement
    ]
    return "\n\n".join([*parts, *(["\n".join(missing)] if missing else [])]) + "\n"


def _writing(measured: Measured, names: list[str], workloads: list[str]) -> Iterator[str]:
    yield "Writing: points per second (times slower than Holter); CPU seconds per million; bytes per point."
    yield ""
    yield "| | " + " | ".join(workloads) + " |"
    yield "|---|" + "---|" * len(workloads)
    for name in names:
        cells = [_write_cell(measured, name, workload) for workload in workloads]
        if any(cells):
            yield f"| {name} | " + " | ".join(cell or "-" for cell in cells) + " |"


def _write_cell(measured: Measured, name: str, workload: str) -> str:
    rounds = _rounds_with(measured, name, workload, "seconds")
    if not rounds:
        return ""
    rate = _write_rate(rounds)
    cpu = statistics.median(1e6 * each["cpu"] / each["points"] for each in rounds)
    size = statistics.median(each["bytes"] / each["points"] for each in rounds)
    holter = _rounds_with(measured, "Holter", workload, "seconds")
    ratio = "" if name == "Holter" or not holter else f" ({_short(_write_rate(holter) / rate)}x)"
    bytes_per_point = f"{size:.2f}" if size < 10 else f"{size:.0f}"
    return f"{_rate(rate)}{ratio}; {_short(cpu)} s; {bytes_per_point} B"


def _rounds_with(measured: Measured, name: str, workload: str, quantity: str) -> list[dict[str, Any]]:
    return [each for each in measured.get((name, workload), []) if quantity in each]


def _write_rate(rounds: list[dict[str, Any]]) -> float:
    return statistics.median(each["points"] / each["seconds"] for each in rounds)


def _reading(measured: Measured, names: list[str]) -> Iterator[str]:
    yield "Reading: milliseconds, times slower than Holter."
    yield ""
    yield "| | " + " | ".join(title for _, _, title in _QUERIES) + " |"
    yield "|---|" + "---|" * len(_QUERIES)
    for name in names:
        cells = []
        for query, workload, _ in _QUERIES:
            duration = _read_milliseconds(measured, name, workload, query)
            holter = _read_milliseconds(measured, "Holter", workload, query)
            ratio = (
                "" if name == "Holter" or not duration or not holter else f" ({_short(duration / holter)}x)"
            )
            cells.append(f"{_short(duration)}{ratio}" if duration else "-")
        if any(cell != "-" for cell in cells):
            yield f"| {name} | " + " | ".join(cells) + " |"


def _read_milliseconds(measured: Measured, name: str, workload: str, query: str) -> float | None:
    """The median; None if not measured, or measured on fewer points than Holter's."""
    most_points = max((each.get("points", 0) for each in measured.get(("Holter", workload), [])), default=0)
    is_size_independent = query == "last values"
    durations = [
        each["reads"][query]
        for each in measured.get((name, workload), [])
        if query in each.get("reads", {}) and (is_size_independent or each["points"] >= most_points)
    ]
    return statistics.median(durations) if durations else None


def _loading(measured: Measured, names: list[str], workloads: list[str]) -> Iterator[str]:
    yield (
        "Event files: events per second until all points can be queried (Holter's: durable); "
        "CPU seconds per million."
    )
    yield ""
    yield "| | " + " | ".join(workloads) + " |"
    yield "|---|" + "---|" * len(workloads)
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for name in names:
        for workload in workloads:
            rounds = [each for each in measured.get((name, workload), []) if "failed" not in each]
            for variant in rounds[0] if rounds else ():
                loads = [each[variant] for each in rounds]
                cpu = statistics.median(1e6 * load["cpu"] / load["points"] for load in loads)
                cell = f"{_rate(_write_rate(loads))}; {_short(cpu)} s"
                rows.setdefault((name, variant), {})[workload] = cell
    for (name, variant), cells in rows.items():
        yield (
            f"| {name}: {variant} | " + " | ".join(cells.get(workload, "-") for workload in workloads) + " |"
        )


def _rate(rate: float) -> str:
    return f"{rate / 1e6:.2f} M/s" if rate >= 1e6 else f"{rate / 1e3:.1f} k/s"


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}" if number < 1 else f"{number:.1f}"


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []
