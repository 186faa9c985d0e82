"""One message about many incidents and outages, where each by itself would flood a channel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from holter.counted import counted, verb
from holter.server.channels.message import Item, Message, one_line, title_of
from holter.types import Severity

_ORDER = (Severity.CRITICAL, Severity.WARNING, Severity.INFO)


def summarise(
    incidents: Sequence[Mapping[str, Any]],
    *,
    key: str,
    sent_at: float,
    address: str,
    others: Sequence[Item] = (),
) -> Message:
    """One message about many incidents, the worst first, and `others`: outages of agents."""
    items = [_item(one, address) for one in incidents] + list(others)
    runs = sorted({f"{one['project']}/{one['run']}" for one in incidents})
    where = one_line(runs[0]) if len(runs) == 1 else counted(len(runs), "run")
    still_open = sum(one.open for one in items)
    outages = counted(len(others), "outage") + " of agents"
    told = [f"{counted(len(incidents), 'incident')} in {where}"] if incidents else []
    headline = " and ".join([*told, outages] if others else told)
    return Message(
        key=key,
        reason="summary",
        severity=min((one.severity for one in items), key=_ORDER.index),
        subject=headline,
        headline=headline,
        sentence=(
            f"{headline} changed within a short time; {still_open} of them {verb(still_open, 'is', 'are')} "
            "open. They are told together so that they do not flood this channel."
        ),
        link=f"{address}/incidents",
        link_to="all incidents",
        sent_at=sent_at,
        items=tuple(sorted(items, key=lambda one: _ORDER.index(one.severity))),
    )


def _item(incident: Mapping[str, Any], address: str) -> Item:
    said = (title_of(incident), incident["run"], f"step {incident['start_step']:,}", incident["state"])
    return Item(
        text=" · ".join(said),
        link=f"{address}/incidents/{incident['id']}",
        severity=Severity(incident["severity"]),
        open=incident["state"] == "open",
    )
