"""Which runs get the metrics of a machine: the named run, or those that train on the machine's host."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from holter.attempts.config import ConfigByAttempt, newest_settings
from holter.server.context import ServerContext
from holter.server.machine_metrics.samples import MachineSample
from holter.server.scraping import target_runs
from holter.server.tracked_runs import find_run
from holter.settings import ScrapeSettings

_CACHE_SECONDS = 10.0
"""How long the list of active runs is used: collectors send several requests a second."""
_EARLY_SECONDS = 600.0
"""Samples from so long before a run was first seen belong to it."""


class TargetRun(NamedTuple):
    """A run that gets metrics: of these hosts, of all where `hosts` is empty, and not older than `since`."""

    project: str
    name: str
    hosts: frozenset[str]
    since: float

    def takes(self, sample: MachineSample) -> bool:
        """Whether a sample belongs to the run."""
        return sample.time >= self.since and (
            not self.hosts or not sample.host or short_name(sample.host) in self.hosts
        )


class TargetRuns:
    """Finds the runs that get a request's samples."""

    def __init__(self, context: ServerContext) -> None:
        self._context = context
        self._active = target_runs(context.settings.scrape, context.engine, clock=context.clock)
        self._known: tuple[float, Sequence[TargetRun]] = (-_CACHE_SECONDS, ())

    def find(self, project: str, run: str) -> Sequence[TargetRun]:
        """The named run, or else the active ones with the hosts that they are known to use."""
        if run:
            return [TargetRun(project or "default", run, frozenset(), 0.0)]
        if project:
            settings = ScrapeSettings(project=project)
            names = target_runs(settings, self._context.engine, clock=self._context.clock)()
            return self._with_hosts(names)
        read_at, runs = self._known
        if time.monotonic() - read_at >= _CACHE_SECONDS:
            runs = self._with_hosts(self._active())
            self._known = time.monotonic(), runs
        return runs

    def _with_hosts(self, names: Iterable[tuple[str, str]]) -> list[TargetRun]:
        targets = []
        for project, name in names:
            stored = find_run(self._context, project, name)
            if stored is None:  # named in the settings, and not there yet
                targets.append(TargetRun(project, name, frozenset(), 0.0))
                continue
            config = {**self._context.store.environment(stored.id), **self._context.store.config(stored.id)}
            targets.append(TargetRun(project, name, known_hosts(config), stored.created_at - _EARLY_SECONDS))
        return targets


def known_hosts(config: ConfigByAttempt) -> frozenset[str]:
    """The hosts of a run, where its settings state all of them; empty where some may be missing.

    SLURM states all nodes. Otherwise each host states its own name and how many nodes there are.
    """
    settings = newest_settings(config)
    nodes = next((str(value) for name, value in settings.items() if name.endswith("slurm.nodes")), "")
    if nodes:
        return frozenset(short_name(node) for node in nodes.split(",") if node.strip())
    stated = _values(config, "host")
    counts = [int(value) for value in _values(config, "nodes") if value.isdecimal()]
    hosts = frozenset(map(short_name, stated))
    return hosts if counts and len(hosts) >= max(counts) else frozenset()


def _values(config: ConfigByAttempt, name: str) -> list[str]:
    """The newest values of a setting of every label."""
    found: list[str] = []
    for key, by_attempt in config.items():
        if key.name.rpartition(".")[2] == name and by_attempt:
            found.append(str(_newest(by_attempt)))
    return found


def _newest(by_attempt: Mapping[int, object]) -> object:
    return by_attempt[max(by_attempt)]


def short_name(host: str) -> str:
    """A host without its domain, in lower case; an address as it is."""
    return host if host.replace(".", "").isdigit() or ":" in host else host.strip().partition(".")[0].lower()
