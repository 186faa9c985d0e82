"""Candidates for the cause of a finding, how probable each is, and which are clear enough to be named."""

from __future__ import annotations

from dataclasses import dataclass

from holter.detectors.causes.logged_changes import CauseCode, LoggedChange
from holter.detectors.causes.symptom import Symptom
from holter.detectors.causes.words import name_of
from holter.detectors.thresholds import Thresholds
from holter.types import Cause, ConfigValue, Labels


@dataclass(frozen=True, kw_only=True)
class CauseThresholds(Thresholds):
    """How probable a change of a kind is as the cause of what follows it, and when it is named.

    The score compares two explanations: the change is the cause, or its closeness is a coincidence. The
    odds are those of its kind and size (the fields below), over the probability of the coincidence.
    """

    rate_most: float = 3.0
    """Odds of a learning rate that rose, at most; below, the share by which it rose: a rate that doubled
    counts 1."""
    rate_known: float = 0.7
    """Factor on them where the run has had this rate before: a warm restart."""
    larger_batch: float = 0.5
    """Factor on the share by which a batch grew; one that shrank counts fully, up to 1."""
    share_weight: float = 10.0
    """Times the difference of a dataset's share, up to 1."""
    setting: float = 0.5
    """Odds of another logged setting."""
    overflow: float = 0.5
    """Odds of a loss scale that fell: often a consequence of the same cause."""
    restart: float = 0.1
    """Odds of a restart of which no difference is known."""
    lag_rows: float = 20.0
    """Rows after which an effect is half as probable as at once."""
    lag_delays: float = 4.0
    """Times the delay of detection that are added to them: a rise that is detected late began slowly."""
    implausible: float = 0.02
    """Odds of a change in the direction that calms a training."""
    shown_score: float = 0.2
    """Score from which on a cause is listed."""
    clear_score: float = 0.8
    """Score from which on a cause is named in summary and advice: four to one."""
    equal_odds: float = 3.0
    """Ratio of odds up to which two causes cannot be told apart: both are named, and neither alone."""
    equal_rows: float = 2.0
    """Rows up to which two changes are at one place: they cannot be told apart either, and..."""
    equal_score: float = 0.5
    """Score from which on the second of them is named, too."""
    most_named: int = 2
    """Causes that are named at most; more of them are no explanation."""
    most_listed: int = 5
    """Causes that are listed at most."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A change that may have caused a finding.

    `chance` is the probability of its closeness by coincidence, `rows_apart` its distance from the onset.
    """

    code: CauseCode
    title: str
    sentence: str
    advice: str
    step: int
    odds: float
    chance: float
    rows_apart: float = 0.0
    metric: str = ""
    labels: Labels = ()
    before: ConfigValue | None = None
    after: ConfigValue | None = None
    supporting: tuple[str, ...] = ()
    contradicting: tuple[str, ...] = ()

    @property
    def posterior(self) -> float:
        """The odds that it is the cause."""
        return self.odds / max(self.chance, 1e-6)


def odds_of_change(change: LoggedChange, thresholds: CauseThresholds) -> float:
    """The odds that such a change has an effect like this, before its closeness is considered.

    Of several such changes of a series, the others had none: Laplace's rule of succession.
    """
    return _odds_of_size(change, thresholds) / change.alike


def odds_of_lag(symptom: Symptom, rows_apart: float, thresholds: CauseThresholds) -> float:
    """The factor on the odds of a cause so many rows from the onset."""
    delay = (symptom.detected_step - symptom.start_step) / symptom.spacing
    return 1 / (1 + rows_apart / (thresholds.lag_rows + thresholds.lag_delays * delay))


def _odds_of_size(change: LoggedChange, thresholds: CauseThresholds) -> float:
    rose = change.after > change.before
    larger, smaller = max(change.before, change.after), min(change.before, change.after)
    share = larger / smaller - 1 if smaller > 0 else 1.0
    if change.code is CauseCode.LEARNING_RATE:
        known = thresholds.rate_known if change.is_known else 1.0
        return known * min(share, thresholds.rate_most)
    if change.code is CauseCode.MIXTURE:
        return min(1.0, thresholds.share_weight * abs(change.after - change.before))
    if change.code is CauseCode.BATCH_SIZE:
        return min(share, 1.0) * (thresholds.larger_batch if rose else 1.0)
    if change.code is CauseCode.GRADIENT_CLIPPING and not rose:
        return thresholds.implausible
    if change.code is CauseCode.LOSS_SCALE:
        return thresholds.overflow
    if change.code is CauseCode.HYPERPARAMETER:
        return thresholds.setting
    return 1.0 if change.code is CauseCode.PRECISION else min(share, 1.0)


def rank(candidates: list[Candidate], attempt: int, thresholds: CauseThresholds) -> tuple[Cause, ...]:
    """The causes, the most probable first; those that are clear are marked."""
    best_of_code: dict[CauseCode, Candidate] = {}
    for candidate in sorted(candidates, key=lambda each: (-each.posterior, -each.step, each.sentence)):
        best_of_code.setdefault(candidate.code, candidate)
    ranked = [each for each in best_of_code.values() if _score(each, thresholds) >= thresholds.shown_score]
    clear = _clear(ranked, thresholds)
    return tuple(
        _cause(candidate, attempt, ranked, is_clear=candidate in clear, thresholds=thresholds)
        for candidate in ranked[: thresholds.most_listed]
    )


def _score(candidate: Candidate, thresholds: CauseThresholds) -> float:
    score = candidate.posterior / (1 + candidate.posterior)
    return min(score, 0.5) if candidate.odds <= thresholds.implausible else score


def _clear(ranked: list[Candidate], thresholds: CauseThresholds) -> list[Candidate]:
    """The candidates that are probable enough and cannot be told apart; none if those are too many."""
    probable = [each for each in ranked if _score(each, thresholds) >= thresholds.clear_score]
    # overflows follow from what makes gradients grow
    first = [each for each in probable if each.code is not CauseCode.LOSS_SCALE] or probable
    if not first:
        return []
    best = first[0]
    clear = [
        each
        for each in ranked
        if (each in first and each.posterior * thresholds.equal_odds >= best.posterior)
        or (
            abs(each.rows_apart - best.rows_apart) <= thresholds.equal_rows
            and _score(each, thresholds) >= thresholds.equal_score
            and (each in first or each not in probable)
        )
    ]
    return clear if len(clear) <= thresholds.most_named else []


def _cause(
    candidate: Candidate,
    attempt: int,
    ranked: list[Candidate],
    *,
    is_clear: bool,
    thresholds: CauseThresholds,
) -> Cause:
    rivals = [
        f"{name_of(each.code)} changed too, at step {each.step:,}"
        for each in ranked
        if each is not candidate and _score(each, thresholds) >= 0.5
    ]
    return Cause(
        code=candidate.code.value,
        title=candidate.title,
        sentence=candidate.sentence,
        advice=candidate.advice,
        score=round(min(_score(candidate, thresholds), 0.999), 3),
        is_clear=is_clear,
        attempt=attempt,
        step=candidate.step,
        metric=str(candidate.metric),
        labels=candidate.labels,
        before=candidate.before,
        after=candidate.after,
        evidence_for=candidate.supporting,
        evidence_against=(*candidate.contradicting, *rivals),
    )
