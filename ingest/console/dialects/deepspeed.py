"""DeepSpeed's own lines: speed, learning rate, loss scale; those of DeepSpeed-Chat; its pipeline engine."""

from __future__ import annotations

import re

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.values import parse_number, parse_numbers, parse_time

_SPEED = re.compile(
    r"global_step=(\d+), RunningAvgSamplesPerSec=([\d.]+), CurrSamplesPerSec=([\d.]+)"
    r"(?:, MemAllocated=([\d.]+)GB, MaxMemAllocated=([\d.]+)GB)?"
)
_RATE = re.compile(r"step=(\d+), skipped=(\d+), lr=\[([^\]]*)\]")
_OVERFLOW = re.compile(r"OVERFLOW!.*Attempted loss scale: ([\d.]+).*?(?:reducing to ([\d.]+))?$")
_PIPELINE = re.compile(
    r"steps: (\d+) loss: (\S+) iter time \(s\): ([\d.]+) samples/sec: ([\d.]+)",
)
_CHAT = re.compile(r"epoch: \d+\|step: (\d+)\|ppo_ep: \d+\|((?:\w+: ?\S+?\|?)+)$")
_REWARD = re.compile(r"average reward score: (\S+)")
_CHAT_SPEED = re.compile(r"\|(E2E latency=.*)")


def _speed(line: str, memory: DialectState) -> LineValues | None:
    """Samples of all ranks per second, of this step; the running average leaves the first steps out."""
    found = _SPEED.search(line)
    if found is None:
        return None
    step = int(found[1])
    names = ("samples/sec (mean)", "samples/sec", "memory allocated (GB)", "max memory allocated (GB)")
    values = {name: float(text) for name, text in zip(names, found.groups()[1:], strict=True) if text}
    return LineValues(step, _of_engine("speed", step, values, memory), parse_time(line))


def _rate(line: str, memory: DialectState) -> LineValues | None:
    """The learning rate of each group of parameters, and how many steps were skipped so far."""
    found = _RATE.search(line)
    if found is None:
        return None
    memory["step"] = step = int(found[1])
    rates = [parse_number(text) for text in found[3].split(",")]
    values = {f"lr/{at}" if at else "lr": rate for at, rate in enumerate(rates) if rate is not None}
    values["skipped steps"] = float(found[2])
    return LineValues(step, _of_engine("rate", step, values, memory), parse_time(line))


def _of_engine(kind: str, step: int, values: dict[str, float], memory: DialectState) -> dict[str, float]:
    """Actor and critic of DeepSpeed-Chat print the same step one after the other: the second is apart."""
    again = memory.get(kind) == step
    memory[kind] = None if again else step
    return {f"second engine/{name}": value for name, value in values.items()} if again else values


def _overflow(line: str, memory: DialectState) -> LineValues | None:
    """The loss scale after a step that was skipped; it stands at the step that was told last."""
    found = _OVERFLOW.search(line)
    scale = parse_number(found[2] or found[1]) if found else None
    return (
        None
        if scale is None
        else LineValues(int(memory.get("step", 0)), {"loss scale": scale}, parse_time(line))
    )


def _pipeline(line: str, memory: DialectState) -> LineValues | None:
    found = _PIPELINE.search(line)
    if found is None:
        return None
    memory["step"] = step = int(found[1])
    texts = {"loss": found[2], "iter time (s)": found[3], "samples/sec": found[4]}
    values = parse_numbers(texts.items())
    return LineValues(step, values, parse_time(line))


def _chat(line: str, memory: DialectState) -> LineValues | None:
    """`epoch: 0|step: 2|ppo_ep: 1|act_loss: 0.22|cri_loss: 0.13|unsuper_loss: 0.0`."""
    found = _CHAT.search(line)
    if found is None:
        return None
    memory["chat"] = step = int(found[1])
    values = parse_numbers(pair.partition(":")[::2] for pair in found[2].split("|"))
    return LineValues(step, values)


def _reward(line: str, memory: DialectState) -> LineValues | None:
    found = _REWARD.search(line)
    value = parse_number(found[1]) if found else None
    return LineValues(memory["chat"], {"reward": value}) if value is not None and "chat" in memory else None


def _chat_speed(line: str, memory: DialectState) -> LineValues | None:
    """`|E2E latency=3.73s |…|CurSamplesPerSec=17.17 |AvgSamplesPerSec=10.92`."""
    found = _CHAT_SPEED.search(line)
    if found is None or "chat" not in memory:
        return None
    values: dict[str, float] = {}
    for pair in found[1].split("|"):
        name, _, text = pair.strip().partition("=")
        value = parse_number(text.partition(" ")[0].removesuffix("s"))
        if value is not None:
            values[name] = value
    return LineValues(memory["chat"], values)


DIALECT = ConsoleDialect(
    name="deepspeed",
    tell=re.compile(rb"step=\d+, (?:RunningAvgSamplesPerSec=|skipped=\d+, lr=\[)|steps: \d+ loss: "),
    kinds=(
        LineKind(mark=re.compile(rb"RunningAvgSamplesPerSec="), read=_speed),
        LineKind(mark=re.compile(rb", skipped="), read=_rate),
        LineKind(mark=re.compile(rb"OVERFLOW! "), read=_overflow),
        LineKind(mark=re.compile(rb"steps: \d+ loss: "), read=_pipeline),
        LineKind(mark=re.compile(rb"\|ppo_ep: "), read=_chat),
        LineKind(mark=re.compile(rb"average reward score: "), read=_reward),
        LineKind(mark=re.compile(rb"\|E2E latency="), read=_chat_speed),
    ),
)
