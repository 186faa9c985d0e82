"""Losses of reinforcement learning: by their names like any other, by what they measure terms of a policy."""

from __future__ import annotations

from dataclasses import replace

from holter.roles import MetricWithRole, Role, is_user_role, role_of, words_of
from holter.types import RunData, SeriesKey

_WORDS = frozenset(["policy", "pg", "actor", "critic", "value", "vf", "qf", "surrogate"])
"""Words of loss terms that only the training of a policy has."""


def has_policy(run: RunData) -> bool:
    """Whether a run trains a policy: it logs rewards, or loss terms of a policy or of a value function."""
    return any(
        role is Role.REWARD or (role is Role.LOSS_TERM and not _WORDS.isdisjoint(words_of(key.metric)))
        for key, role in ((key, role_of(key)) for key in run.series)
    )


def with_policy_losses(run: RunData) -> RunData:
    """The run with its training losses as terms of a policy, where it trains one.

    Such a loss is measured on data that the policy made itself: it rises when rewards become larger, and its
    size says nothing about progress.
    """
    totals = [key for key in run.series if role_of(key) is Role.LOSS and not is_user_role(key)]
    if not totals or not has_policy(run):
        return run
    series_by_key = dict(run.series)
    for key in totals:
        term = SeriesKey(MetricWithRole(key.metric, Role.LOSS_TERM), key.labels)
        series_by_key[term] = replace(series_by_key.pop(key), key=term)
    return replace(run, series=series_by_key)
