"""Lines about the best so far, or what was saved: of which step they are, and of which they are not."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from holter.ingest.console.line.line_counters import Counter, CounterField
from holter.ingest.console.line.line_shapes import MetricField
from holter.ingest.console.line.line_words import BEST_WORD
from holter.ingest.console.line.number_field import NumberField

_BEST = re.compile(rf"(?i){BEST_WORD}(?!\.\w|[_\w-]*[=:])")
_BEST_AHEAD = re.compile(r"(?i)\W{0,20}best_\w{1,40} ?[:=] ?(?=[a-z])")
_TAG = re.compile(
    rf"(?i)[\[(*=#<]{{1,4}} ?(?:[\w ]{{1,20}} )?{BEST_WORD}[\w !]{{0,20}}[\])*=#>]{{1,4}}"
    r"[ :|-]{1,4}\w{1,12}\W{0,4}$"
)
"""Signs around such a word right before what counts: `[NEW BEST] Epoch #3: `."""
_NAMED = re.compile(
    rf"(?i){BEST_WORD}[ _](?:(?P<epoch>epoch)|step|iter(?:ation)?|round)[ \t]{{0,2}}[:=#(\[]?[ \t]{{0,2}}"
    r"(?P<number>\d{1,9})(?![\d.])"
)
_SAVED_WITH = re.compile(
    r"(?i)[ \])]{0,3}[:|,*-]{0,4} {0,4}(?:new )?best (?:model|checkpoint|weights) (?:is |was )?saved,? with\b"
)
"""What is behind an epoch whose best value a line repeats."""
_VALUE_AND_BEST = 2
_BEST_STEP = "best step"
_NOTE = re.compile(r"(?i)\bsav(?:ed|ing)\b|\bcheckpoint\b|\bstopp(?:ed|ing)\b")
"""Words of lines that note what a program did at an epoch, and announce none."""
_SAVED = re.compile(
    r"(?i)[\s:,\])]{1,4}(?:(?:model|weights|checkpoint|state|snapshot) )?(?:was |is )?saved\b"
)
"""The same behind the epoch: `Epoch 3 saved as epoch_3.pt`."""


def text_ahead(texts: tuple[str, ...], counters: list[CounterField]) -> str:
    """The text before what a line counts first; nothing of a line that counts nothing."""
    return "".join(texts[: counters[0].index + 1]) if counters else ""


def is_about_best(texts: tuple[str, ...], counters: list[CounterField]) -> bool:
    """Whether a line is about the best step: `Best performance in epoch 3: `, `BEST_SCORE : epoch: 3 `.

    So is `Epoch 3 - New best model saved with ACC: `.
    """
    if _BEST.search(text_ahead(texts, counters)) is not None:
        return True
    if (
        counters
        and _SAVED_WITH.match(texts[max(counters[-1].index, counters[-1].total_index) + 1]) is not None
    ):
        return True
    return bool(counters) and counters[0].index == 0 and _BEST_AHEAD.match(texts[0]) is not None


def is_tagged_best(texts: tuple[str, ...], counters: list[CounterField]) -> bool:
    """Whether a tag before what a line counts states that it is the best so far: `[NEW BEST] Epoch #3: `."""
    return _TAG.search(text_ahead(texts, counters)) is not None


def named_best(line: str) -> dict[Counter, tuple[int, int]]:
    """What a line counts of the best step that it names, and of no other: `Best epoch: 4, val acc 0.8`."""
    match = _NAMED.search(line)
    if match is None:
        return {}
    return {Counter.EPOCH if match["epoch"] else Counter.STEP: (int(match["number"]), 0)}


def note_best_step(step: int, state: dict[str, Any]) -> None:
    """Note the best step, which a line names that has no values: `Best iteration: 120`."""
    state[_BEST_STEP] = [step, state.get("step")]


def best_step_above(names: Collection[str], state: dict[str, Any]) -> int | None:
    """The step that a line above named as the best one, for values that are named so: `Best score: 0.8`.

    Nothing once the training has gone on.
    """
    step, last = state.get(_BEST_STEP, (None, None))
    return step if last == state.get("step") and all("best" in name.lower() for name in names) else None


def is_of_best(metrics: list[MetricField], field: NumberField) -> bool:
    """Whether what is counted is where the best of two values was: `PSNR: 34.0 (Best: 34.1 @epoch 5)`."""
    if len(metrics) < _VALUE_AND_BEST or not metrics[-1].name.lower().startswith("best"):
        return False
    return field.before.strip(" (,@") in ("", "at", "in")


def is_note(texts: tuple[str, ...], field: CounterField) -> bool:
    """Whether a line notes that an epoch was saved, or the like: `Saved epoch 3`, `Epoch 3 saved as a.pt`."""
    behind = texts[max(field.index, field.total_index) + 1]
    return _NOTE.search(text_ahead(texts, [field])) is not None or _SAVED.match(behind) is not None
