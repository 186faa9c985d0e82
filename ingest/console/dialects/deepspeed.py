"""Lines of DeepSpeed (speed, learning rate, loss scale), DeepSpeed-Chat and its pipeline engine."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import repeat

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.layouts.layout_prefixes import PrefixedLines
from holter.ingest.console.layouts.layout_slots import MAX_COUNT_DIGITS
from holter.ingest.console.layouts.line_layouts import LayoutContent, LineLayout, layout_of
from holter.ingest.console.line.line_tokens import number_at
from holter.ingest.console.text.values import find_time, parse_number, parse_numbers, parse_time
from holter.ingest.rows import LogRow

_SPEED = re.compile(
    r"global_step=(\d+), RunningAvgSamplesPerSec=([\d.]+), CurrSamplesPerSec=([\d.]+)"
    r"(?:, MemAllocated=([\d.]+)GB, MaxMemAllocated=([\d.]+)GB)?"
)
_RATE = re.compile(r"step=(\d+), skipped=(\d+), lr=\[([^\]\[]*+)\]")
_RATES = re.compile(rb", skipped=")
_DECIMAL = re.compile(r"[-+]?+[0-9]++(?:\.[0-9]*+)?+(?:[eE][-+]?+[0-9]++)?+|[-+]?+(?:nan|inf)")
_SKIPPED = "skipped steps"
_NO_TIME = float("nan")
_OVERFLOW = re.compile(r"OVERFLOW!.{0,400}?Attempted loss scale: ([\d.]++)(?:.{0,400}?reducing to ([\d.]+))?")
_PIPELINE = re.compile(
    r"steps: (\d+) loss: (\S+) iter time \(s\): ([\d.]+) samples/sec: ([\d.]+)",
)
_CHAT = re.compile(
    r"epoch: \d+\|step: (\d+)\|ppo_ep: \d+\|(\w++: ?+[^\s|]++(?:\|\w++: ?+[^\s|]++){0,40}+\|?)$"
)
_REWARD = re.compile(r"average reward score: (\S+)")
_CHAT_SPEED = re.compile(r"\|(E2E latency=.*)")


def _speed(line: str, state: DialectState) -> LineValues | None:
    """Samples of all ranks per second in this step; the running average omits the first steps."""
    match = _SPEED.search(line)
    if match is None:
        return None
    step = int(match[1])
    names = ("samples/sec (mean)", "samples/sec", "memory allocated (GB)", "max memory allocated (GB)")
    values = {name: float(text) for name, text in zip(names, match.groups()[1:], strict=True) if text}
    return LineValues(step, _of_engine("speed", step, values, state), parse_time(line))


def _rate(line: str, state: DialectState) -> LineValues | None:
    """The learning rate of each group of parameters, and how many steps were skipped so far."""
    match = _RATE.search(line)
    if match is None:
        return None
    state["step"] = step = int(match[1])
    rates = [parse_number(text) for text in match[3].split(",")]
    names = _names_of_rates(len(rates))
    values = {name: rate for name, rate in zip(names, rates, strict=True) if rate is not None}
    values[_SKIPPED] = float(match[2])
    return LineValues(step, _of_engine("rate", step, values, state), parse_time(line))


def _names_of_rates(groups: int) -> list[str]:
    return [f"lr/{index}" if index else "lr" for index in range(groups)]


def _of_engine(kind: str, step: int, values: dict[str, float], state: DialectState) -> dict[str, float]:
    """Actor and critic of DeepSpeed-Chat print the same step in turn: the second gets a prefix."""
    again = state.get(kind) == step
    state[kind] = None if again else step
    return _of_second(values) if again else values


def _of_second(values: Mapping[str, float]) -> dict[str, float]:
    return {f"second engine/{name}": value for name, value in values.items()}


@dataclass(frozen=True, slots=True)
class _RateContent:
    """The columns of numbers in lines of learning rates, one for each group of parameters."""

    step: int
    skipped: int
    rates: tuple[int, ...]


def _describe_rate(line: str, parts: list[str]) -> LayoutContent | None:
    """What the numbers of a line of learning rates are, None if any of these is none."""
    match = _RATE.search(line)
    if match is None or find_time(line) is not None:
        return None
    places, begin = [match.span(1), match.span(2)], match.start(3)
    for text in match[3].split(","):
        number = text.strip()
        first = begin + text.index(number)
        places.append((first, first + len(number)))
        begin += len(text) + 1
    indices = [number_at(*place, parts) for place in places]
    for (first, last), index in zip(places, indices, strict=True):
        number = line[first:last]
        if index < 0 or parts[2 * index + 1] != number or _DECIMAL.fullmatch(number) is None:
            return None
    groups = tuple(sorted({*indices}))
    step, skipped, *rates = map(groups.index, indices)
    counts = dict.fromkeys(indices[:2], MAX_COUNT_DIGITS)
    return LayoutContent(groups, counts, _RateContent(step, skipped, tuple(rates)), is_empty=False)


class _RateTable:
    """Lines of learning rates; see `LineTable`."""

    has_values, within_epochs, announces_steps = True, None, False

    def __init__(self, layout: LineLayout, rows: Sequence[tuple[bytes, ...]]) -> None:
        content: _RateContent = layout.content
        prefix, columns = layout.prefix, list(zip(*rows, strict=True))
        numbers = columns[prefix.groups :]
        steps = map(int, numbers[content.step])
        times = prefix.times_around(columns, [_NO_TIME] * len(rows))
        names = (*_names_of_rates(len(content.rates)), _SKIPPED)
        cells = zip(*(map(float, numbers[at]) for at in (*content.rates, content.skipped)), strict=True)
        self._rows = [*map(LogRow, steps, times, map(dict, map(zip, repeat(names), cells)))]
        self._printed = PrefixedLines(prefix, columns)
        self.by_process = self._printed.by_process

    def of_lines(self, lines: Sequence[int]) -> _RateTable:
        """Some of these lines, as a table of their own."""
        some = copy(self)
        some._rows = [self._rows[line] for line in lines]
        some._printed = self._printed.of_lines(lines)
        some.by_process = some._printed.by_process
        return some

    def counts_on(self, state: DialectState) -> bool:
        """Whether rates depend on none before them; they do."""
        return False

    @property
    def steady_rows(self) -> Sequence[LogRow]:
        """What all lines hold at the first record of their step."""
        return self._rows

    def step_of(self, line: int) -> int:
        """The step of a line."""
        return self._rows[line].step

    def rows(self, first: int, last: int, state: DialectState) -> list[LogRow | None]:
        """What some of the lines hold, in the order of their lines; see `_rate`."""
        rows: list[LogRow | None] = []
        before = state.get("rate")
        for row in self._rows[first:last]:
            again = row.step == before
            before = None if again else row.step
            rows.append(row._replace(values=_of_second(row.values)) if again else row)
        state["rate"], state["step"] = before, self._rows[last - 1].step
        return rows


class _RateColumns:
    """Parses lines of learning rates in columns."""

    table = _RateTable

    def layout_of(self, line: bytes) -> LineLayout | None:
        """The layout of a line, None if its numbers may be others."""
        return layout_of(line, _describe_rate, lambda line: _RATES.search(line) is not None)


def _overflow(line: str, state: DialectState) -> LineValues | None:
    """The loss scale after a step that was skipped, at the last step that was printed."""
    match = _OVERFLOW.search(line)
    scale = parse_number(match[2] or match[1]) if match else None
    return (
        None
        if scale is None
        else LineValues(int(state.get("step", 0)), {"loss scale": scale}, parse_time(line))
    )


def _pipeline(line: str, state: DialectState) -> LineValues | None:
    match = _PIPELINE.search(line)
    if match is None:
        return None
    state["step"] = step = int(match[1])
    texts = {"loss": match[2], "iter time (s)": match[3], "samples/sec": match[4]}
    values = parse_numbers(texts.items())
    return LineValues(step, values, parse_time(line))


def _chat(line: str, state: DialectState) -> LineValues | None:
    """`epoch: 0|step: 2|ppo_ep: 1|act_loss: 0.22|cri_loss: 0.13|unsuper_loss: 0.0`."""
    match = _CHAT.search(line)
    if match is None:
        return None
    state["chat"] = step = int(match[1])
    values = parse_numbers(pair.partition(":")[::2] for pair in match[2].split("|"))
    return LineValues(step, values)


def _reward(line: str, state: DialectState) -> LineValues | None:
    match = _REWARD.search(line)
    value = parse_number(match[1]) if match else None
    return LineValues(state["chat"], {"reward": value}) if value is not None and "chat" in state else None


def _chat_speed(line: str, state: DialectState) -> LineValues | None:
    """`|E2E latency=3.73s |…|CurSamplesPerSec=17.17 |AvgSamplesPerSec=10.92`."""
    match = _CHAT_SPEED.search(line)
    if match is None or "chat" not in state:
        return None
    values: dict[str, float] = {}
    for pair in match[1].split("|"):
        name, _, text = pair.strip().partition("=")
        value = parse_number(text.partition(" ")[0].removesuffix("s"))
        if value is not None:
            values[name] = value
    return LineValues(state["chat"], values)


DIALECT = ConsoleDialect(
    name="deepspeed",
    signature=re.compile(rb"step=\d+, (?:RunningAvgSamplesPerSec=|skipped=\d+, lr=\[)|steps: \d+ loss: "),
    kinds=(
        LineKind(pattern=re.compile(rb"RunningAvgSamplesPerSec="), parse=_speed),
        LineKind(pattern=_RATES, parse=_rate, columns=_RateColumns()),
        LineKind(pattern=re.compile(rb"OVERFLOW! "), parse=_overflow),
        LineKind(pattern=re.compile(rb"steps: \d+ loss: "), parse=_pipeline),
        LineKind(pattern=re.compile(rb"\|ppo_ep: "), parse=_chat),
        LineKind(pattern=re.compile(rb"average reward score: "), parse=_reward),
        LineKind(pattern=re.compile(rb"\|E2E latency="), parse=_chat_speed),
    ),
)
