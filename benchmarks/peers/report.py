"""The tables: medians, ratios against Holter in the same run, and the machine they were measured on."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from peers.roster import Entrant
from peers.workloads import WORKLOADS

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
_QUESTIONS = (
    ("one series", "R20", "one series of 10,000 points, all of them"),
    ("20 series", "R20", "20 series x 10,000 points, 1,000 of each"),
    ("20 series", "L1M", "one series of 1,000,000 points, 1,000 of them"),
    ("last values", "W2", "last values of 10,000 series"),
)

Measured = Mapping[tuple[str, str], list[dict[str, Any]]]


def machine() -> str:
    """What it was measured on, in a line."""
    model = next(
        (line.partition(":")[2].strip() for line in _lines(Path("/proc/cpuinfo")) if "model name" in line),
        platform.processor(),
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    load = " ".join(f"{one:.1f}" for one in os.getloadavg())
    return (
        f"{os.cpu_count()} cores ({model}), {memory:.0f} GiB, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}; load before: {load}"
    )


def report(
    measured: Measured,
    absent: Mapping[str, str],
    roster: Iterable[Entrant],
    about: str,
    *,
    minutes: float,
    scale: float,
) -> str:
    """All tables as Markdown."""
    entrants = list(roster)
    names = [one.name for one in entrants if any(who == one.name for who, _ in measured)]
    parts = [f"{about}. {minutes:.0f} minutes." + (f" {scale:g} of the points." if scale != 1 else "")]
    written = [name for name in WORKLOADS if any(what == name for _, what in measured)]
    if written:
        parts.append("\n".join(_writing(measured, names, written)))
        parts.append("\n".join(_asking(measured, names)))
    loaded = sorted({what for _, what in measured if what.startswith("events")})
    if loaded:
        parts.append("\n".join(_loading(measured, names, loaded)))
    missing = [f"- {name} did not take part: {why}" for name, why in absent.items()]
    missing += [
        f"- {who}, {what}: {one['failed']}"
        for (who, what), rounds in measured.items()
        for one in rounds
        if "failed" in one
    ]
    return "\n\n".join([*parts, *(["\n".join(missing)] if missing else [])]) + "\n"


def _writing(measured: Measured, names: list[str], workloads: list[str]) -> Iterator[str]:
    yield "Writing: points a second (times slower than Holter); processor seconds a million; bytes a point."
    yield ""
    yield "| | " + " | ".join(workloads) + " |"
    yield "|---|" + "---|" * len(workloads)
    for name in names:
        cells = [_written(measured, name, workload) for workload in workloads]
        if any(cells):
            yield f"| {name} | " + " | ".join(cell or "-" for cell in cells) + " |"


def _written(measured: Measured, name: str, workload: str) -> str:
    rounds = [one for one in measured.get((name, workload), []) if "seconds" in one]
    if not rounds:
        return ""
    rate = statistics.median(one["points"] / one["seconds"] for one in rounds)
    cpu = statistics.median(1e6 * one["cpu"] / one["points"] for one in rounds)
    size = statistics.median(one["bytes"] / one["points"] for one in rounds)
    ours = [one for one in measured.get(("Holter", workload), []) if "seconds" in one]
    best = statistics.median(one["points"] / one["seconds"] for one in ours) if ours else rate
    ratio = "" if name == "Holter" or not ours else f" ({_short(best / rate)}x)"
    shown = f"{size:.2f}" if size < 10 else f"{size:.0f}"
    return f"{_rate(rate)}{ratio}; {_short(cpu)} s; {shown} B"


def _asking(measured: Measured, names: list[str]) -> Iterator[str]:
    yield "Reading: milliseconds, times slower than Holter."
    yield ""
    yield "| | " + " | ".join(what for _, _, what in _QUESTIONS) + " |"
    yield "|---|" + "---|" * len(_QUESTIONS)
    for name in names:
        cells = []
        for question, workload, _ in _QUESTIONS:
            mine, ours = (_took(measured, who, workload, question) for who in (name, "Holter"))
            ratio = "" if name == "Holter" or not mine or not ours else f" ({_short(mine / ours)}x)"
            cells.append(f"{_short(mine)}{ratio}" if mine else "-")
        if any(cell != "-" for cell in cells):
            yield f"| {name} | " + " | ".join(cells) + " |"


def _took(measured: Measured, name: str, workload: str, question: str) -> float | None:
    """Milliseconds; None where nobody asked, or of fewer points than Holter holds."""
    most = max((one.get("points", 0) for one in measured.get(("Holter", workload), [])), default=0)
    whole = question == "last values"  # they are as many, however many points there were
    found = [
        one["reads"][question]
        for one in measured.get((name, workload), [])
        if question in one.get("reads", {}) and (whole or one["points"] >= most)
    ]
    return statistics.median(found) if found else None


def _loading(measured: Measured, names: list[str], workloads: list[str]) -> Iterator[str]:
    yield "Event files: events a second until all is there (Holter's: durable); processor seconds a million."
    yield ""
    yield "| | " + " | ".join(workloads) + " |"
    yield "|---|" + "---|" * len(workloads)
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for name in names:
        for workload in workloads:
            rounds = [one for one in measured.get((name, workload), []) if "failed" not in one]
            for how in rounds[0] if rounds else ():
                rate = statistics.median(one[how]["points"] / one[how]["seconds"] for one in rounds)
                cpu = statistics.median(1e6 * one[how]["cpu"] / one[how]["points"] for one in rounds)
                rows.setdefault((name, how), {})[workload] = f"{_rate(rate)}; {_short(cpu)} s"
    for (name, how), cells in rows.items():
        yield f"| {name}: {how} | " + " | ".join(cells.get(workload, "-") for workload in workloads) + " |"


def _rate(rate: float) -> str:
    return f"{rate / 1e6:.2f} M/s" if rate >= 1e6 else f"{rate / 1e3:.1f} k/s"


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}" if number < 1 else f"{number:.1f}"


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def write_page(page: Path, text: str) -> None:
    """Put the tables between the markers of a page."""
    before, _, rest = page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n{text}{END}{after}")
