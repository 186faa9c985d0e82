"""The measurements of a comparison."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from peers.environments import PeerEnvironment

Measurement = dict[str, Any]


@dataclass
class PeerResults:
    """Measurements by peer and title (a workload or a question), versions, and why others are missing."""

    rounds: int
    environments: dict[str, PeerEnvironment] = field(default_factory=dict)
    unavailable: dict[str, str] = field(default_factory=dict)
    failures: list[tuple[str, str, str]] = field(default_factory=list)
    measured: dict[tuple[str, str], list[Measurement]] = field(default_factory=dict)

    def add(self, peer: str, title: str, measurement: Measurement) -> None:
        """Add a measurement of a round."""
        self.measured.setdefault((peer, title), []).append(measurement)

    def add_failure(self, peer: str, title: str, reason: str) -> None:
        """Add why a measurement is missing."""
        self.failures.append((peer, title, reason))

    def of(self, peer: str, title: str) -> list[Measurement]:
        """The measurements of one peer and title."""
        return self.measured.get((peer, title), [])

    def as_json(self) -> dict[str, Any]:
        """Everything that was measured."""
        return {
            "versions": {name: environment.version for name, environment in self.environments.items()},
            "measurements": [
                {"peer": peer, "title": title, "rounds": rounds}
                for (peer, title), rounds in self.measured.items()
            ],
            "failures": self.failures,
        }
