"""The message about agents that fell silent together, and that they are back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import tzinfo

from holter.plurals import counted
from holter.server.agents.registry import format_duration
from holter.server.alerting.outages import SEVERITY, Missing, Outage, Whereabouts
from holter.server.channels.message import Item, Message, local_time, one_line

_NAMED = 5
_ENDS: Mapping[Whereabouts, str] = {
    "back": "back",
    "ended": "back and done",
    "forgotten": "not waited for any more",
}
_ADVICE = (
    "See whether the machine is up and can reach Holter, and start the agent again: it reads on from where "
    "it was. If it is gone for good, press Forget on the overview."
)
_ADVICE_ALONE = (
    "Look first at what lies between: network, proxy, certificate, a token that was revoked. Agents that can "
    "reach Holter again go on by themselves from where they were."
)


def compose_outage(
    outage: Outage, *, key: str, reason: str, sent_at: float, address: str, zone: tzinfo | None = None
) -> Message:
    """The message about an outage as it is now. `zone`: None is this machine's."""
    subject = f"{_who(outage.agents)} silent"
    return Message(
        key=key,
        reason=reason,
        severity=SEVERITY,
        subject=subject,
        headline=_headline(outage, subject, reason),
        sentence=_over(outage) if outage.over else _silent(outage, sent_at, zone),
        link=f"{address}/",
        link_to="the overview",
        sent_at=sent_at,
        facts=tuple(_facts(outage, sent_at, zone)),
        advice="" if outage.over else _ADVICE_ALONE if outage.alone else _ADVICE,
    )


def item(outage: Outage, address: str) -> Item:
    """An outage as a line of a summary."""
    state = "over" if outage.over else "silent"
    text = f"{_who(outage.agents)} · {state}"
    return Item(text=text, link=f"{address}/", severity=SEVERITY, open=not outage.over)


def _headline(outage: Outage, silent: str, reason: str) -> str:
    if reason == "recovered":
        return f"Back: {silent[0].lower()}{silent[1:].removesuffix(' silent')}"
    return f"Closed: {silent[0].lower()}{silent[1:]}" if reason == "closed" else silent


def _who(agents: tuple[Missing, ...]) -> str:
    hosts = _hosts(agents)
    where = hosts[0] if len(hosts) == 1 else counted(len(hosts), "machine")
    return f"Agent on {where}" if len(agents) == 1 else f"{counted(len(agents), 'agent')} on {where}"


def _silent(outage: Outage, now: float, zone: tzinfo | None) -> str:
    first = min(one.since for one in outage.agents)
    one = len(outage.agents) == 1
    last = f"last reported {format_duration(now - first)} ago, {local_time(first, zone)}"
    said = f"{_who(outage.agents)} {last}, and did not say that {'it ends' if one else 'they end'}."
    unwatched = f"What {'it follows' if one else 'they follow'} is not watched meanwhile."
    alone = " No agent reports any more: perhaps it is the way to Holter that broke." if outage.alone else ""
    return f"{said} {unwatched}{alone}"


def _over(outage: Outage) -> str:
    ends = [one.at - one.since for one in outage.agents if one.at is not None and one.became != "forgotten"]
    lasted = f", silent for {format_duration(max(ends))}" if ends else ""
    return f"{_became(outage.agents)}{lasted}."


def _became(agents: tuple[Missing, ...]) -> str:
    """What has become of them: "All 60 agents on 60 machines are back"."""
    counts = Counter(one.became for one in agents)
    if len(counts) > 1:
        told = (f"{counts[which]:,} {words}" for which, words in _ENDS.items() if counts[which])
        return f"{_who(agents)}: {', '.join(told)}"
    words = _ENDS[agents[0].became]
    return f"{_who(agents)} is {words}" if len(agents) == 1 else f"All {_who(agents)} are {words}"


def _facts(outage: Outage, now: float, zone: tzinfo | None) -> Iterable[tuple[str, str]]:
    hosts = _hosts(outage.agents)
    yield "Machines" if len(hosts) > 1 else "Machine", _named(hosts, ", ")
    yield "Follows", _named([what for one in outage.agents for what in _follows(one)], ", ")
    if projects := [one.project for one in outage.agents if one.project]:
        yield "For", _named(projects, ", ")
    first, last = (pick(one.since for one in outage.agents) for pick in (min, max))
    spread = f", the last {format_duration(last - first)} later" if last - first >= 1 else ""
    yield "Heard", f"{local_time(first, zone)} ({format_duration(now - first)} ago){spread}"
    if behind := sum(one.files_behind for one in outage.agents):
        yield "Behind", f"{counted(behind, 'file')} when last heard"


def _follows(one: Missing) -> list[str]:
    return ["a pipe"] if one.kind == "pipe" else list(one.paths) or [counted(one.files, "file")]


def _hosts(agents: Iterable[Missing]) -> list[str]:
    return list(dict.fromkeys(one_line(one.host) for one in agents))


def _named(texts: list[str], between: str) -> str:
    different = list(dict.fromkeys(texts))
    more = f" and {len(different) - _NAMED:,} more" if len(different) > _NAMED else ""
    return between.join(different[:_NAMED]) + more
