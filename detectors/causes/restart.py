"""A restart as a cause: with the logged series and the settings of the launch that changed with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from holter.detectors.causes.candidate import Candidate, CauseThresholds, odds_of_change, odds_of_lag
from holter.detectors.causes.changed_settings import LaunchSettingChange
from holter.detectors.causes.logged_changes import OFF, CauseCode, LoggedChange
from holter.detectors.causes.symptom import Symptom
from holter.detectors.causes.words import (
    ADVICE,
    chance_text,
    change_text,
    distance_text,
    evidence_of_change,
    fragment_of_change,
    name_of,
    sentence_of_change,
    title_of_change,
)
from holter.plurals import counted

_MOST_NAMED = 3
"""Changes that a sentence about a restart names."""


def restart_candidate(
    symptom: Symptom,
    changes: Sequence[LoggedChange],
    settings: Sequence[LaunchSettingChange],
    thresholds: CauseThresholds,
    *,
    has_settings: bool,
) -> Candidate | None:
    """The restart shortly before an onset as one candidate; None where there is none.

    `changes`: of logged series, at the first row of the attempt. `settings`: those that the launch states
    differently. `has_settings`: whether launches state any.
    """
    begin = symptom.attempt_begin
    if begin is None or symptom.attempt == symptom.first_attempt or begin < symptom.earliest_step:
        return None
    apart = max(symptom.start_step - begin, 0) / symptom.spacing
    restarts = symptom.attempt - symptom.first_attempt
    chance = min(1.0, restarts * (apart + 2) / max(symptom.rows_before, 1))
    changed = {change.code for change in changes}
    others = [setting for setting in settings if setting.code not in changed]
    supporting = [distance_text(begin, symptom), chance_text(chance)]
    supporting += [f"Setting {_setting_text(setting)}" for setting in settings if setting.code in changed]
    plain = Candidate(
        code=CauseCode.RESTART,
        title="Restart",
        sentence=f"The run was restarted at step {begin:,}",
        advice=ADVICE[CauseCode.RESTART],
        step=begin,
        odds=thresholds.restart * odds_of_lag(symptom, apart, thresholds),
        chance=chance,
        rows_apart=apart,
        supporting=tuple(supporting),
        contradicting=(_nothing_known(has_settings=has_settings),),
    )
    if len(changes) + len(others) == 0:
        return plain
    odds = max([1.0, *(odds_of_change(change, thresholds) for change in changes)])
    odds *= odds_of_lag(symptom, apart, thresholds)
    if len(changes) == 1 and not others:
        only = change_candidate(changes[0], symptom, thresholds)
        return replace(only, odds=odds, chance=chance, supporting=(*only.supporting, *supporting[2:]))
    if len(others) == 1 and not changes:
        return _with_setting(replace(plain, odds=odds), others[0])
    parts = [_lower_first(fragment_of_change(change)) for change in changes]
    parts += [_setting_text(setting) for setting in others]
    more = f" and {counted(len(parts) - _MOST_NAMED, 'more change')}" if len(parts) > _MOST_NAMED else ""
    return replace(
        plain,
        code=CauseCode.RESTART_SETTINGS,
        advice=ADVICE[CauseCode.RESTART_SETTINGS],
        title="Restart with other settings",
        sentence=f"The restart at step {begin:,} came with other settings: "
        f"{', '.join(parts[:_MOST_NAMED])}{more}",
        odds=odds,
        contradicting=(),
        supporting=(*supporting, *(f"Changed: {part}" for part in parts[_MOST_NAMED:])),
    )


def change_candidate(change: LoggedChange, symptom: Symptom, thresholds: CauseThresholds) -> Candidate:
    """A logged change as a candidate."""
    supporting, contradicting = evidence_of_change(change, symptom)
    rows_apart = abs(symptom.start_step - change.step) / symptom.spacing
    before, after = ("off" if value >= OFF else value for value in (change.before, change.after))
    return Candidate(
        code=change.code,
        title=title_of_change(change),
        sentence=sentence_of_change(change),
        advice=ADVICE[change.code],
        step=change.step,
        odds=odds_of_change(change, thresholds) * odds_of_lag(symptom, rows_apart, thresholds),
        chance=change.chance,
        rows_apart=rows_apart,
        metric=str(change.key.metric),
        labels=change.key.labels,
        before=before,
        after=after,
        supporting=tuple(supporting),
        contradicting=tuple(contradicting),
    )


def _with_setting(restart: Candidate, setting: LaunchSettingChange) -> Candidate:
    return replace(
        restart,
        code=setting.code,
        title=f"{name_of(setting.code)} change with a restart",
        sentence=f"Setting {_setting_text(setting)} with the restart at step {restart.step:,}",
        advice=ADVICE[setting.code],
        metric=setting.name,
        labels=setting.labels,
        before=setting.before,
        after=setting.after,
        contradicting=("The setting is stated by the launch, not logged as a series",),
    )


def _setting_text(setting: LaunchSettingChange) -> str:
    return f"{setting.name} changed {change_text(setting.before, setting.after)}"


def _nothing_known(*, has_settings: bool) -> str:
    if has_settings:
        return "No setting that its launch states, and no logged series, changed with it"
    return "No logged series changed with it; its launches state no settings"


def _lower_first(text: str) -> str:
    return f"{text[:1].lower()}{text[1:]}"
