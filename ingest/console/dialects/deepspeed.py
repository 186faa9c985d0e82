"""Lines of DeepSpeed (speed, learning rate, loss scale), DeepSpeed-Chat and its pipeline engine."""

from __future__ import annotations

import re

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.values import parse_number, parse_numbers, parse_time

_SPEED = re.compile(
    r"global_step=(\d+), RunningAvgSamplesPerSec=([\d.]+), CurrSamplesPerSec=([\d.]+)"
    r"(?:, MemAllocated=([\d.]+)GB, MaxMemAllocated=([\d.]+)GB)?"
)
_RATE = re.compile(r"step=(\d+), skipped=(\d+), lr=\[([^\]\[]*+)\]")
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
    values = {f"lr/{index}" if index else "lr": rate for index, rate in enumerate(rates) if rate is not None}
    values["skipped steps"] = float(match[2])
    return LineValues(step, _of_engine("rate", step, values, state), parse_time(line))


def _of_engine(kind: str, step: int, values: dict[str, float], state: DialectState) -> dict[str, float]:
    """Actor and critic of DeepSpeed-Chat print the same step in turn: the second gets a prefix."""
    again = state.get(kind) == step
    state[kind] = None if again else step
    return {f"second engine/{name}": value for name, value in values.items()} if again else values


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
        LineKind(pattern=re.compile(rb", skipped="), parse=_rate),
        LineKind(pattern=re.compile(rb"OVERFLOW! "), parse=_overflow),
        LineKind(pattern=re.compile(rb"steps: \d+ loss: "), parse=_pipeline),
        LineKind(pattern=re.compile(rb"\|ppo_ep: "), parse=_chat),
        LineKind(pattern=re.compile(rb"average reward score: "), parse=_reward),
        LineKind(pattern=re.compile(rb"\|E2E latency="), parse=_chat_speed),
    ),
)
