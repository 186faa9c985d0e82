"""Megatron's timers and its report of stragglers, printed below the line of an iteration."""

from __future__ import annotations

import re

from holter.ingest.console.dialect import DialectState, LineKind, LineValues
from holter.ingest.console.text.values import parse_number, parse_time

_TIMER = re.compile(r"(?<![\w/])([\w/][\w/ -]{0,100}?) ?\.{2,}+: (?:\(([\d.]+), ([\d.]+)\)|([\d.]++))\s*+$")
_OF_RANK = re.compile(r"^\s*rank +(\d+): ([\d.]+)\s*$")
_OF_ALL = re.compile(r"^\s+([\w/-]+):\s*$")
_EXTREME = re.compile(r"(M[nx]\w{1,60})/Rnk: ([\d.]{1,40})([A-Za-z%]{1,20})/(\d+)")
_RANKED = re.compile(r"(?<![\d.])([\d.]++)TF/(\d+)")
_MOST_RANKS = 65_536


def _opens(line: str, state: DialectState) -> None:
    """`times across ranks (ms):` begins a block; in a block of all ranks, names are on lines of their own."""
    state["timer"] = ""


def _timer(line: str, state: DialectState) -> list[LineValues] | None:
    """`    forward-backward ....: (26094.39, 26095.09)`: minimum and maximum of all ranks, or one value."""
    match = _TIMER.search(line)
    if match is None or "step" not in state:
        return None
    name, least, most, alone = match.groups()
    extremes = (("min", least), ("max", most or alone))
    return [
        LineValues(state["step"], {f"{name} (ms)": value}, labels=(("across", across),))
        for across, text in extremes
        if text is not None and (value := parse_number(text)) is not None
    ]


def _name(line: str, state: DialectState) -> None:
    """`  forward-backward:`, followed by the times of ranks."""
    match = _OF_ALL.match(line)
    if match is not None and "timer" in state:
        state["timer"] = match[1]


def _of_rank(line: str, state: DialectState) -> LineValues | None:
    """`     rank  3: 26094.39`."""
    match = _OF_RANK.match(line)
    if match is None or not state.get("timer") or "step" not in state or int(match[1]) >= _MOST_RANKS:
        return None
    value = parse_number(match[2])
    if value is None:
        return None
    return LineValues(
        state["step"], {f"{state['timer']} (ms)": value}, labels=(("rank", str(int(match[1]))),)
    )


def _stragglers(line: str, state: DialectState) -> LineValues | None:
    """`MnRtt/Rnk: 3453.08ms/8 | MxRtt/Rnk: 3468.20ms/0 | …`: extremes over all ranks, and their ranks."""
    if "step" not in state:
        return None
    values = {}
    for name, text, unit, rank in _EXTREME.findall(line):
        value = parse_number(text)
        if value is not None:
            values[f"{name} ({unit})"] = value
            values[f"{name} rank"] = float(rank)
    return LineValues(state["step"], values, parse_time(line)) if values else None


def _ranked(line: str, state: DialectState) -> list[LineValues] | None:
    """`^^^^ Bottom 4 Ranks with lowest  Etpt(TF): 296.02TF/0, 296.10TF/3,`: throughput of some ranks."""
    if "step" not in state:
        return None
    return [
        LineValues(state["step"], {"Etpt (TF)": value}, parse_time(line), labels=(("rank", rank),))
        for text, rank in _RANKED.findall(line)
        if (value := parse_number(text)) is not None
    ]


KINDS = (
    LineKind(pattern=re.compile(rb"across ranks \(ms\):"), parse=_opens, job_wide=True),
    LineKind(pattern=re.compile(rb"\.\.: \(?\d"), parse=_timer, job_wide=True),
    LineKind(pattern=re.compile(rb"MnRtt/Rnk: \d"), parse=_stragglers, job_wide=True),
    LineKind(pattern=re.compile(rb"\^\^\^\^ (?:Bottom|Top) +\d+ Ranks"), parse=_ranked, job_wide=True),
    LineKind(pattern=re.compile(rb"rank +\d+: \d[\d.]*\s*?(?=\n)"), parse=_of_rank, job_wide=True),
    LineKind(pattern=re.compile(rb"(?m)(?:^| ) [A-Za-z][\w/-]{0,80}:(?=\r?\n)"), parse=_name, job_wide=True),
)
