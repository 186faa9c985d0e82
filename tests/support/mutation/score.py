"""Scores of mutation testing: the share of faults that the tests notice, with its interval."""

from __future__ import annotations

from collections.abc import Mapping


def wilson_interval(successes: int, trials: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson, "Probable inference", 1927)."""
    if not trials:
        return 0.0, 1.0
    z, share = 1.959964, successes / trials
    centre = share + z * z / (2 * trials)
    half = z * (share * (1 - share) / trials + z * z / (4 * trials * trials)) ** 0.5
    scale = 1 + z * z / trials
    return max(0.0, (centre - half) / scale), min(1.0, (centre + half) / scale)


def score_table(scores: Mapping[str, tuple[int, int]]) -> str:
    """A line for each target, and one for all, from the numbers of killed mutants and of those tried."""
    total = sum(killed for killed, _ in scores.values()), sum(tried for _, tried in scores.values())
    lines = ["target           killed  tried   score   95 % interval"]
    for name, (killed, tried) in {**scores, "all": total}.items():
        low, high = wilson_interval(killed, tried)
        lines.append(
            f"{name:16} {killed:6} {tried:6} {killed / max(tried, 1):7.0%}   {low:.0%} to {high:.0%}"
        )
    return "\n".join(lines) + "\n"
