"""Which runs get the metrics of a machine: the named run, or those that train on the machine's host."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from holter.attempts.config import ConfigByAttempt, newest_settings
from holter.server.context import ServerContext
from holter.server.machine_metrics.samples import MachineSample
from holter.server.scraping import target_runs
from holter.server.tracked_runs import find_run
from holter.settings import ScrapeSettings

_CACHE_SECONDS = 10.0
"""How long a list of active runs is used: collectors send several requests a second."""
_MAX_PROJECTS = 256
"""Lists that are cached."""
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
        self._active: dict[str, tuple[float, Sequence[TargetRun]]] = {}  # by project, with when it was read

    def find(self, project: str, run: str) -> Sequence[TargetRun]:
        """The named run, or else the active ones with the hosts that they are known to use."""
        if run:
            return [TargetRun(project or "default", run, frozenset(), 0.0)]
        now = time.monotonic()
        cached = self._active.get(project)
        if cached is not None and now - cached[0] < _CACHE_SECONDS:
            return cached[1]
        runs = self._active_runs(project)
        if len(self._active) >= _MAX_PROJECTS:
            self._active.clear()
        self._active[project] = now, runs
        return runs

    def _active_runs(self, of_project: str) -> list[TargetRun]:
        """The active runs of a project, of the one in the settings if that is empty."""
        settings = ScrapeSettings(project=of_project) if of_project else self._context.settings.scrape
        names = target_runs(settings, self._context.engine, clock=self._context.clock)
        targets = []
        for project, name in names():
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
    return [
        str(by_attempt[max(by_attempt)])
        for key, by_attempt in config.items()
        if by_attempt and key.name.rpartition(".")[2] == name
    ]


def short_name(host: str) -> str:
    """A host without its domain, in lower case; an address as it is."""
    return host if host.replace(".", "").isdigit() or ":" in host else host.strip().partition(".")[0].lower()
