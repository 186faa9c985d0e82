"""Losses of policies and of adversaries: losses by their names, and terms of a game by what they measure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from holter.roles import MetricWithRole, Role, is_total_loss, is_user_role, role_of, words_of
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


_GENERATORS = frozenset(["g", "gen", "generator"])
_LOSSES = frozenset([Role.LOSS, Role.DATASET_LOSS, Role.LOSS_TERM])
_ADVERSARIES = frozenset(["d", "dis", "disc", "discriminator"])


def has_adversary(keys: Iterable[SeriesKey]) -> bool:
    """Whether a run with these series trains a generator and its adversary: it logs losses of both."""
    losses = {str(key.metric) for key in keys if role_of(key) in _LOSSES}  # thousands of ranks log one
    words = [words_of(metric) for metric in losses]
    return all(any(each & names for each in words) for names in (_GENERATORS, _ADVERSARIES))


def adversarial_terms(keys: Collection[SeriesKey]) -> dict[SeriesKey, SeriesKey]:
    """The losses of a generator and its adversary, and their total, with their keys as terms, where a run
    with these series has both; else none.

    Each rises as the other learns, and may wander over decades. What is in a folder of losses is as much a
    term, a score or a sign of theirs, and no dataset: `loss/g/total`, `loss/scores/fake`.
    """
    if not has_adversary(keys):
        return {}
    terms = {}
    for key in keys:
        role = role_of(key)
        if role not in (Role.LOSS, Role.DATASET_LOSS) or is_user_role(key):
            continue
        is_part = role is Role.DATASET_LOSS and not key.labels
        if is_part or is_total_loss(key) or words_of(key.metric) & (_GENERATORS | _ADVERSARIES):
            terms[key] = SeriesKey(MetricWithRole(key.metric, Role.LOSS_TERM), key.labels)
    return terms


def with_adversarial_losses(run: RunData) -> RunData:
    """The run with the losses of a generator and its adversary, and their total, as terms."""
    terms = adversarial_terms(run.series)
    if not terms:
        return run
    series_by_key = dict(run.series)
    for key, term in terms.items():
        series_by_key[term] = replace(series_by_key.pop(key), key=term)
    return replace(run, series=series_by_key)
