"""What the processes of one launch say of NCCL, host by host."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from holter.types import ConfigValue, Diagnostic, Labels, RunData, Severity, labels_of

_PREFIX = "nccl."
_SHOWN = 8


@dataclass(frozen=True, kw_only=True)
class NcclLaunch:
    """`said[name][who]`: a setting by those that state it, told by their labels; () where it is the job's."""

    attempt: int
    said: Mapping[str, Mapping[Labels, ConfigValue]]

    def values(self, name: str) -> list[ConfigValue]:
        """The different values of a setting, in the order of who states them."""
        return list(dict.fromkeys(self.said.get(name, {}).values()))

    def has(self, name: str, *values: ConfigValue) -> bool:
        """Whether anybody states a setting, or one of these values of it."""
        known = self.values(name)
        return any(value in known for value in values) if values else bool(known)

    def env(self, name: str) -> str | None:
        """An environment variable, None where nobody says that it is set."""
        values = self.values(f"nccl.env.{name}")
        return str(values[0]) if values else None

    def number(self, name: str) -> float:
        """The largest value of a setting that is a number, 0 where there is none."""
        numbers = [
            value for value in self.values(name) if isinstance(value, int | float) and 0 <= value < 2**53
        ]
        return float(max(numbers, default=0))

    def by_host(self, name: str) -> dict[str, list[ConfigValue]]:
        """The different values of a setting on each host."""
        found: dict[str, list[ConfigValue]] = {}
        for who, value in sorted(self.said.get(name, {}).items()):
            values = found.setdefault(dict(who).get("host", ""), [])
            if value not in values:
                values.append(value)
        return found

    @property
    def hosts(self) -> list[str]:
        """Every host that states something."""
        stated = {dict(who).get("host") for values in self.said.values() for who in values}
        return sorted(host for host in stated if host)

    @property
    def needs_network(self) -> bool:
        """Whether data leaves a node: no more is known of a log that shows one node alone."""
        nodes = self.number("nccl.nodes")
        return nodes > 1 or self.has("nccl.channels.via_net") or (not nodes and len(self.hosts) > 1)

    def remark(
        self, code: str, summary: str, advice: str, *, severity: Severity = Severity.WARNING, **evidence: Any
    ) -> Diagnostic:
        """A remark on this launch, with the host where it is one."""
        hosts = evidence.get("hosts", ())
        return Diagnostic(
            code=code,
            attempt=self.attempt,
            severity=severity,
            summary=summary,
            advice=advice,
            labels=labels_of({"host": hosts[0]} if len(hosts) == 1 else {}),
            evidence=evidence,
        )


def nccl_launches(run: RunData) -> Iterator[NcclLaunch]:
    """The launches of which anything about NCCL is known."""
    found: dict[int, dict[str, dict[Labels, ConfigValue]]] = {}
    for key, values in run.config.items():
        if key.name.startswith(_PREFIX):
            for attempt, value in values.items():
                found.setdefault(attempt, {}).setdefault(key.name, {})[key.labels] = value
    for attempt in sorted(found):
        yield NcclLaunch(attempt=attempt, said=found[attempt])


def split_names(value: ConfigValue) -> list[str]:
    """The network cards that a setting lists."""
    return value.split() if isinstance(value, str) else []


def on_hosts(hosts: list[str]) -> str:
    """Where something is so: "on n1 and n2", "on 12 hosts (n1, n2 ...)"; "" where no host is known."""
    known = [host for host in hosts if host]
    if not known:
        return ""
    if len(known) > _SHOWN:
        return f" on {len(known)} hosts ({', '.join(known[:_SHOWN])} ...)"
    return f" on {' and '.join([*([', '.join(known[:-1])] if known[1:] else []), known[-1]])}"
