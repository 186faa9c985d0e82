"""The tables of the comparison: medians, ratios to Holter in the same run, versions, and the machine."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from peers.results import Measurement, PeerResults
from peers.roster import PeerSpec
from peers.workloads import WORKLOADS

_QUERIES = {
    "one series": "one series of 10,000 points, all of them",
    "20 series": "20 series x 10,000 points, 1,000 of each",
    "long series": "one series of 1,000,000 points, 1,000 of them",
    "last values": "last values of 10,000 series",
}


def describe_machine() -> str:
    """Cores, memory, system and Python version of this machine, in one line."""
    model = next(
        (line.partition(":")[2].strip() for line in _lines(Path("/proc/cpuinfo")) if "model name" in line),
        platform.processor(),
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{os.cpu_count()} cores ({model}), {memory:.0f} GiB, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}"
    )


def describe_load() -> str:
    """The load of the last minute."""
    return f"{os.getloadavg()[0]:.1f}"


def report(results: PeerResults, roster: Iterable[PeerSpec], heading: str, *, scale: float) -> str:
    """All tables as Markdown, with the reasons of missing measurements."""
    names = [peer.name for peer in roster if any(name == peer.name for name, _ in results.measured)]
    rounds = f" Rounds: {results.rounds}."
    parts = [
        heading + rounds + (f" {scale:g} of the points." if scale != 1 else ""),
        _versions(results, names),
    ]
    written = [name for name in WORKLOADS if any(title == name for _, title in results.measured)]
    if written:
        parts += [
            _table(
                "Writing: points a second (times slower than Holter).", _rate_cell, results, names, written
            ),
            _table(
                "Processor seconds a million points: until all is written / until all is quiet.",
                _cpu_cell,
                results,
                names,
                written,
            ),
            _table(
                "Bytes a point, of all files: before and after compaction.",
                _bytes_cell,
                results,
                names,
                written,
            ),
        ]
    if any(query in _QUERIES for _, query in results.measured):
        parts.append(_reading(results, names))
    loaded = sorted({title for _, title in results.measured if title.startswith("events")})
    if loaded:
        parts.append("\n".join(_loading(results, names, loaded)))
    missing = [f"- {name} could not be installed: {reason}" for name, reason in results.unavailable.items()]
    missing += [f"- {peer}, {title}: {reason}" for peer, title, reason in results.failures]
    return "\n\n".join([*parts, *(["\n".join(missing)] if missing else [])]) + "\n"


def _versions(results: PeerResults, names: list[str]) -> str:
    environments = {name: results.environments[name] for name in names}
    lines = ["| | version | |", "|---|---|---|"]
    lines += [f"| {name} | {each.version} | {each.remark} |" for name, each in environments.items()]
    return "\n".join(lines)


def _table(
    caption: str,
    cell: Callable[[PeerResults, str, str], str],
    results: PeerResults,
    names: list[str],
    workloads: list[str],
) -> str:
    lines = [caption, "", "| | " + " | ".join(workloads) + " |", "|---|" + "---|" * len(workloads)]
    for name in names:
        cells = [cell(results, name, workload) for workload in workloads]
        if any(cells):
            lines.append(f"| {name} | " + " | ".join(each or "-" for each in cells) + " |")
    return "\n".join(lines)


def _writes(results: PeerResults, name: str, workload: str) -> list[Measurement]:
    return [each for each in results.of(name, workload) if "seconds" in each]


def _per_point(rounds: list[Measurement], quantity: str) -> float:
    return statistics.median(each[quantity] / each["points"] for each in rounds)


def _rate_cell(results: PeerResults, name: str, workload: str) -> str:
    rounds, own = _writes(results, name, workload), _writes(results, "Holter", workload)
    if not rounds:
        return ""
    seconds = _per_point(rounds, "seconds")
    ratio = _ratio(seconds, _per_point(own, "seconds")) if own and name != "Holter" else ""
    return f"{_rate(1 / seconds)}{f' ({ratio})' if ratio else ''}"


def _cpu_cell(results: PeerResults, name: str, workload: str) -> str:
    rounds = _writes(results, name, workload)
    if not rounds:
        return ""
    written, quiet = (_short(1e6 * _per_point(rounds, quantity)) for quantity in ("cpu_written", "cpu"))
    return f"{written} / {quiet}"


def _bytes_cell(results: PeerResults, name: str, workload: str) -> str:
    rounds = _writes(results, name, workload)
    if not rounds:
        return ""
    before, after = (_size(_per_point(rounds, quantity)) for quantity in ("bytes_before", "bytes"))
    return before if before == after else f"{before} / {after}"


def _reading(results: PeerResults, names: list[str]) -> str:
    lines = [
        "Reading: milliseconds of the first / second answer in a fresh process (times slower than Holter).",
        "",
        "| | ready after | " + " | ".join(_QUERIES.values()) + " |",
        "|---|---|" + "---|" * len(_QUERIES),
    ]
    for name in names:
        answers = {query: _answers(results, name, query) for query in _QUERIES}
        if any(answers.values()):
            opened = statistics.median(each["opened"] for rounds in answers.values() for each in rounds)
            cells = [_read_cell(results, name, query) for query in _QUERIES]
            lines.append(f"| {name} | {_short(opened)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _answers(results: PeerResults, name: str, query: str) -> list[Measurement]:
    return [each for each in results.of(name, query) if each["milliseconds"]]


def _read_cell(results: PeerResults, name: str, query: str) -> str:
    rounds, own = _answers(results, name, query), _answers(results, "Holter", query)
    if not rounds:
        return "-"
    cold, warm = _medians(rounds)
    times = f"{_short(cold)} / {_short(warm)}"
    if name == "Holter" or not own:
        return times
    own_cold, own_warm = _medians(own)
    return f"{times} ({_ratio(cold, own_cold)} / {_ratio(warm, own_warm)})"


def _medians(rounds: list[Measurement]) -> tuple[float, float]:
    cold, warm = zip(*(each["milliseconds"] for each in rounds), strict=True)
    return statistics.median(cold), statistics.median(warm)


def _loading(results: PeerResults, names: list[str], titles: list[str]) -> Iterator[str]:
    yield (
        "Event files: events a second until all points can be queried (Holter's: durable); "
        "processor seconds a million."
    )
    yield ""
    yield "| | " + " | ".join(titles) + " |"
    yield "|---|" + "---|" * len(titles)
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for name in names:
        for title in titles:
            rounds = results.of(name, title)
            for variant in rounds[0] if rounds else ():
                loads = [each[variant] for each in rounds]
                rate, cpu = 1 / _per_point(loads, "seconds"), 1e6 * _per_point(loads, "cpu")
                rows.setdefault((name, variant), {})[title] = f"{_rate(rate)}; {_short(cpu)} s"
    for (name, variant), cells in rows.items():
        yield f"| {name}: {variant} | " + " | ".join(cells.get(title, "-") for title in titles) + " |"


def _rate(rate: float) -> str:
    return f"{rate / 1e6:.2f} M/s" if rate >= 1e6 else f"{rate / 1e3:.1f} k/s"


def _ratio(value: float, reference: float) -> str:
    return f"{_short(value / reference)}x"


def _size(number: float) -> str:
    return f"{number:.2f}" if number < 10 else f"{number:,.0f}"


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}" if number < 1 else f"{number:.1f}"


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []
