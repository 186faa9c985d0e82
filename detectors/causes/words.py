"""Sentences, titles and advice about causes, and the evidence for and against them."""

from __future__ import annotations

from typing import TypeGuard

from holter.detectors.causes.logged_changes import OFF, CauseCode, LoggedChange, dataset_name
from holter.detectors.causes.symptom import Symptom
from holter.detectors.formatting import figure, from_to
from holter.plurals import counted
from holter.types import ConfigValue

_NAMES = {
    CauseCode.LEARNING_RATE: "Learning rate",
    CauseCode.BATCH_SIZE: "Batch size",
    CauseCode.SEQUENCE_LENGTH: "Sequence length",
    CauseCode.GRADIENT_CLIPPING: "Gradient clipping",
    CauseCode.MIXTURE: "Data mixture",
    CauseCode.PRECISION: "Precision",
    CauseCode.HYPERPARAMETER: "Hyperparameter",
    CauseCode.LOSS_SCALE: "Loss scale",
    CauseCode.RESTART: "The attempt",
    CauseCode.RESTART_SETTINGS: "Settings",
}
ADVICE = {
    CauseCode.LEARNING_RATE: "Unless intended, restore the schedule of the learning rate",
    CauseCode.BATCH_SIZE: "Unless intended, restore the batch size, or scale the learning rate with it",
    CauseCode.SEQUENCE_LENGTH: "Unless intended, restore the sequence length, or raise it in smaller steps",
    CauseCode.GRADIENT_CLIPPING: "Unless intended, restore gradient clipping",
    CauseCode.MIXTURE: "Compare the data mixture with its plan, and look at samples of what was added",
    CauseCode.PRECISION: "Unless intended, restore the precision, or check which operations need more of it",
    CauseCode.HYPERPARAMETER: "Unless intended, restore this setting",
    CauseCode.LOSS_SCALE: "Gradients overflow: lower the learning rate, clip gradients, or train in bf16",
    CauseCode.RESTART: "Compare optimizer state, schedule and data with those of the previous attempt",
    CauseCode.RESTART_SETTINGS: "Unless intended, restore the settings of the previous attempt",
}


def name_of(code: CauseCode) -> str:
    """What changed, as a noun."""
    return _NAMES[code]


def value_text(value: ConfigValue | None) -> str:
    """A value of a setting in a sentence."""
    if isinstance(value, bool) or value is None:
        return {True: "on", False: "off", None: "unset"}[value]
    if isinstance(value, int | float):
        return "off" if value >= OFF else figure(value)
    return value if len(value) <= 60 else f"{value[:57]}..."


def change_text(before: ConfigValue | None, after: ConfigValue | None) -> str:
    """From which value to which a setting changed, in a sentence."""
    if _is_plain(before) and _is_plain(after):
        return from_to(before, after)
    return f"from {value_text(before)} to {value_text(after)}"


def _is_plain(value: ConfigValue | None) -> TypeGuard[float]:
    """Whether a value is a number that is stated as one."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value < OFF


def title_of_change(change: LoggedChange) -> str:
    """A few words for headlines."""
    rose = change.after > change.before
    if change.code is CauseCode.LEARNING_RATE:
        return "Learning rate rise" if rose else "Learning rate drop"
    if change.code is CauseCode.BATCH_SIZE:
        return "Larger batch size" if rose else "Smaller batch size"
    if change.code is CauseCode.SEQUENCE_LENGTH:
        return "Longer sequences" if rose else "Shorter sequences"
    if change.code is CauseCode.LOSS_SCALE:
        return "Gradient overflow"
    if change.code is CauseCode.HYPERPARAMETER:
        return f"Change of {change.key.metric.rsplit('/', 1)[-1]}"
    return f"{_NAMES[change.code]} change"


def fragment_of_change(change: LoggedChange) -> str:
    """What changed and how, without the step."""
    rose = change.after > change.before
    moved = f"{'rose' if rose else 'fell'} {change_text(change.before, change.after)}"
    if change.code is CauseCode.MIXTURE:
        shares = f"from {change.before:.1%} to {change.after:.1%}"
        return f"Share of {dataset_name(change.key)} {'rose' if rose else 'fell'} {shares}"
    if change.code is CauseCode.GRADIENT_CLIPPING and change.after >= OFF:
        return f"Gradient clipping at {value_text(change.before)} was switched off"
    if change.code in (CauseCode.PRECISION, CauseCode.HYPERPARAMETER):
        return f"{change.key.metric.rsplit('/', 1)[-1]} {moved}"
    if change.gradual:
        return f"{_NAMES[change.code]} climbed {change_text(change.before, change.after)}"
    return f"{_NAMES[change.code]} {moved}"


def sentence_of_change(change: LoggedChange) -> str:
    """What changed, how and when, without a full stop."""
    if change.gradual or change.code is CauseCode.LOSS_SCALE:
        return f"{fragment_of_change(change)} from step {change.step:,} on"
    at = "with the restart at" if change.at_restart else "at"
    return f"{fragment_of_change(change)} {at} step {change.step:,}"


def distance_text(step: int, symptom: Symptom) -> str:
    """How far a change is from the onset."""
    steps = symptom.start_step - step
    if steps > 0:
        return f"{counted(steps, 'step')} before the onset"
    if steps == 0:
        return "At the step of the onset"
    return f"{counted(-steps, 'step')} after the stated onset, which is not known more precisely"


def chance_text(chance: float) -> str:
    """How likely such a coincidence is."""
    return f"A change without any effect would be as close to the onset with a probability of {chance:.2g}"


def evidence_of_change(change: LoggedChange, symptom: Symptom) -> tuple[list[str], list[str]]:
    """What supports a logged change as the cause, and what contradicts it."""
    supporting, contradicting = [distance_text(change.step, symptom)], []
    if change.code is CauseCode.LEARNING_RATE:
        ratio = max(change.before, change.after) / min(change.before, change.after)
        usual = f"; the usual change from row to row is {change.usual - 1:.2%}" if change.usual > 1 else ""
        supporting.append(f"{figure(ratio)} times as {_comparative(change)} as before{usual}")
    if change.others:
        supporting.append(f"Other shares changed, too: {', '.join(change.others[:4])}")
    if change.alike == 1:
        supporting.append(f"The only such change in {change.rows:,} rows")
    else:
        others = counted(change.alike - 1, "other such change")
        contradicting.append(f"{others} in {change.rows:,} rows")
    (supporting if change.chance < _RARE else contradicting).append(chance_text(change.chance))
    if change.code not in (CauseCode.MIXTURE, CauseCode.LOSS_SCALE):
        if change.lasts:
            supporting.append(f"Still in effect at step {symptom.detected_step:,}")
        else:
            contradicting.append(f"Back near its former value by step {symptom.detected_step:,}")
    if change.is_known and change.code is CauseCode.LEARNING_RATE:
        contradicting.append("The run has had this learning rate before")
    if change.code is CauseCode.GRADIENT_CLIPPING and change.after < change.before:
        contradicting.append("A lower limit rarely raises a loss")
    if change.code is CauseCode.BATCH_SIZE and change.after > change.before:
        contradicting.append("A larger batch makes gradients less noisy")
    return supporting, contradicting


_RARE = 0.1


def _comparative(change: LoggedChange) -> str:
    return "high" if change.after > change.before else "low"
