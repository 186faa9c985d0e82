"""Families of odd curves: seeded synthetic runs, each with what detection must and what it may report."""

from odd_curves import (
    combinations,
    healthy_losses,
    healthy_presentations,
    healthy_speed,
    planted_losses,
    planted_others,
    short_and_slow,
)
from odd_curves.curve import FAMILIES

__all__ = [
    "FAMILIES",
    "combinations",
    "healthy_losses",
    "healthy_presentations",
    "healthy_speed",
    "planted_losses",
    "planted_others",
    "short_and_slow",
]
