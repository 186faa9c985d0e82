"""The NCCL settings of one launch, by host and process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from holter.types import ConfigValue, Diagnostic, Labels, RunData, Severity, labels_of

_PREFIX = "nccl."
_MAX_LISTED_HOSTS = 8


@dataclass(frozen=True, kw_only=True)
class NcclLaunch:
    """NCCL settings of one launch.

    `settings[name][labels]` is the value of a setting by the labels of the process that states it, which are
    () where it is the job's.
    """

    attempt: int
    settings: Mapping[str, Mapping[Labels, ConfigValue]]

    def values(self, name: str) -> list[ConfigValue]:
        """The distinct values of a setting, in the order of the processes that state them."""
        return list(dict.fromkeys(self.settings.get(name, {}).values()))

    def has(self, name: str, *values: ConfigValue) -> bool:
        """Whether any process states a setting, or one of these values of it."""
        known = self.values(name)
        return any(value in known for value in values) if values else bool(known)

    def env(self, name: str) -> str | None:
        """An environment variable; None where no process states that it is set."""
        values = self.values(f"nccl.env.{name}")
        return str(values[0]) if values else None

    def number(self, name: str) -> float:
        """The largest value of a numeric setting, 0 where there is none."""
        numbers = [
            value for value in self.values(name) if isinstance(value, int | float) and 0 <= value < 2**53
        ]
        return float(max(numbers, default=0))

    def by_host(self, name: str) -> dict[str, list[ConfigValue]]:
        """The distinct values of a setting on each host."""
        by_host: dict[str, list[ConfigValue]] = {}
        for labels, value in sorted(self.settings.get(name, {}).items()):
            values = by_host.setdefault(dict(labels).get("host", ""), [])
            if value not in values:
                values.append(value)
        return by_host

    @property
    def hosts(self) -> list[str]:
        """Every host that states a setting."""
        hosts = {dict(labels).get("host") for values in self.settings.values() for labels in values}
        return sorted(host for host in hosts if host)

    @property
    def needs_network(self) -> bool:
        """Whether data is known to leave a node."""
        nodes = self.number("nccl.nodes")
        return nodes > 1 or self.has("nccl.channels.via_net") or (not nodes and len(self.hosts) > 1)

    def diagnostic(
        self, code: str, summary: str, advice: str, *, severity: Severity = Severity.WARNING, **evidence: Any
    ) -> Diagnostic:
        """A diagnostic on this launch; a single host among `hosts` of the evidence becomes its label."""
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
    """The launches with any NCCL setting, by attempt."""
    by_attempt: dict[int, dict[str, dict[Labels, ConfigValue]]] = {}
    for key, values in run.config.items():
        if key.name.startswith(_PREFIX):
            for attempt, value in values.items():
                by_attempt.setdefault(attempt, {}).setdefault(key.name, {})[key.labels] = value
    for attempt in sorted(by_attempt):
        yield NcclLaunch(attempt=attempt, settings=by_attempt[attempt])


def split_names(value: ConfigValue) -> list[str]:
    """The names that a setting lists, for example of network cards."""
    return value.split() if isinstance(value, str) else []


def on_hosts(hosts: list[str]) -> str:
    """Hosts in words: " on n1 and n2", " on 12 hosts (n1, n2 ...)"; "" where no host is known."""
    known = [host for host in hosts if host]
    if not known:
        return ""
    if len(known) > _MAX_LISTED_HOSTS:
        return f" on {len(known)} hosts ({', '.join(known[:_MAX_LISTED_HOSTS])} ...)"
    return f" on {' and '.join([*([', '.join(known[:-1])] if known[1:] else []), known[-1]])}"
