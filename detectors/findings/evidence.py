"""Evidence of findings as text, with labels and units, for reports and messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from holter.detectors.findings import (
    CATALOGUE,
    FIELDS,
    EvidenceField,
    EvidenceFormat,
    FindingType,
    finding_type,
    title_of,
)
from holter.detectors.formatting import duration, figure, figures
from holter.detectors.wall_clock import format_wall_time
from holter.metric_units import unit_of_metric
from holter.plurals import counted
from holter.roles import Role
from holter.types import SeriesKey, labels_of

_LEVELS = ("baseline", "peak", "worst", "lowest", "level")
"""The evidence that is compared with each other: the level before, and what it came to."""


def evidence_rows(evidence: Mapping[str, Any], *, kind: str, metric: str) -> list[tuple[str, str]]:
    """The labels and texts of a finding's evidence; values that state nothing are left out.

    `metric`: the finding's own, whose name states the unit of its levels. Total: shows evidence of any form,
    also that of incidents that an older version stored.
    """
    rows = []
    for key, value in evidence.items():
        field = FIELDS.get(key) or EvidenceField(key=key, label=_label_of(key))
        if _is_shown(field, value, evidence):
            rows.append((field.label, _Reader(finding_type(kind), metric, evidence).text(field, value)))
    return rows


def reference_text(reference: object) -> str:
    """A reference to another finding as text: `Sudden drop at step 1,992 (loss)`.

    Older versions stored a text instead of the object; it is shown as it is.
    """
    if not isinstance(reference, Mapping) or "kind" not in reference:
        return title_of(str(reference)) if str(reference) in CATALOGUE else str(reference)
    step, labels = reference.get("start_step"), reference.get("labels")
    series = SeriesKey(
        str(reference.get("metric", "")), labels_of(labels if isinstance(labels, Mapping) else {})
    )
    at = f" at step {_number(step)}" if isinstance(step, int) else ""
    where = f" ({series})" if series.metric else ""
    return f"{title_of(str(reference['kind']), series.metric)}{at}{where}"


def _label_of(key: str) -> str:
    words = key.replace("_", " ").strip()
    return f"{words[:1].upper()}{words[1:]}"


def _is_shown(field: EvidenceField, value: object, evidence: Mapping[str, Any]) -> bool:
    if field.format is EvidenceFormat.HIDDEN or value is None or value == "" or field.unless in evidence:
        return False
    if isinstance(value, list | tuple | Mapping):
        return len(value) >= max(field.minimum, 1)
    return not (isinstance(value, int) and field.minimum and value < field.minimum)


class _Reader:
    """Reads the evidence values of one finding as text."""

    def __init__(self, type_: FindingType, metric: str, evidence: Mapping[str, Any]) -> None:
        self._type = type_
        self._metric = metric
        self._unit = str(evidence.get("unit") or "")
        self._levels = [evidence[key] for key in _LEVELS if _is_number(evidence.get(key))]

    def text(self, field: EvidenceField, value: object) -> str:
        """The value as its field's format shows it, with unit and suffix."""
        form = field.format
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, int | float):
            return f"{self._quantity(field, value)}{field.suffix}"
        if form is EvidenceFormat.REFERENCES:
            references = value if isinstance(value, list | tuple) else [value]
            return "; ".join(map(reference_text, references))
        if form is EvidenceFormat.RELATED_CHANGES and isinstance(value, list | tuple):
            return "; ".join(map(_change_text, value))
        if form is EvidenceFormat.CHANGE and isinstance(value, Sequence) and len(value) == 2:
            return f"{_plain(value[0])} to {_plain(value[1])}"
        if form is EvidenceFormat.SHARES and isinstance(value, Mapping):
            return _shares(value)
        return _plain(value)

    def _quantity(self, field: EvidenceField, value: float) -> str:
        form = field.format
        if form is EvidenceFormat.NOISE:
            return _percent(value) if self._type.relative_noise else _number(value)
        if form is EvidenceFormat.COUNT and isinstance(value, float) and not value.is_integer():
            return f"{_number(value)} {field.noun}s"
        if form is EvidenceFormat.COUNT:
            return counted(int(value), field.noun)
        if form in _FORMATTERS:
            return _FORMATTERS[form](value)
        if form is EvidenceFormat.LEVEL and not isinstance(value, int):
            # as many digits as it takes to see that it differs from the other level
            others = [level for level in self._levels if level != value]
            return f"{figures(*others, value)[-1]} {self._unit_of(form)}".rstrip()
        return f"{_number(value)} {self._unit_of(form)}".rstrip()

    def _unit_of(self, form: EvidenceFormat) -> str:
        if form is EvidenceFormat.TIME:
            return unit_of_metric(Role.STEP_TIME, self._metric)
        if form is EvidenceFormat.LEVEL and not self._unit and self._type.unit_role is not None:
            return unit_of_metric(self._type.unit_role, self._metric)
        return self._unit if form in (EvidenceFormat.LEVEL, EvidenceFormat.GROWTH) else ""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else figure(value)


def _percent(value: float) -> str:
    return f"{100 * value:.3g}%"


def _multiple(value: float) -> str:
    return f"{figure(value)} times"


_FORMATTERS = {
    EvidenceFormat.SHARE: _percent,
    EvidenceFormat.MULTIPLE: _multiple,
    EvidenceFormat.SECONDS: duration,
    EvidenceFormat.MILLISECONDS: lambda value: duration(value / 1e3),
    EvidenceFormat.CLOCK: format_wall_time,
}


def _plain(value: object) -> str:
    """A value of any form, by what it is."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{str(name).replace('_', ' ')} {_plain(each)}" for name, each in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value))
    return "unknown" if value is None else str(value)


def _shares(shares: Mapping[str, Any]) -> str:
    if not all(isinstance(share, int | float) for share in shares.values()):
        return _plain(shares)
    by_size = sorted(shares.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {_percent(share)}" for name, share in by_size)


def _change_text(change: object) -> str:
    """A change of another metric, or of the run: `grad norm from 1.3 to 2.6 at step 919`."""
    if not isinstance(change, Mapping) or "what" not in change:
        return _plain(change)
    moved = ""
    if "value" in change:
        moved = f" from {_plain(change.get('before'))} to {_plain(change['value'])}"
    return f"{str(change['what']).replace('_', ' ')}{moved} at step {_plain(change.get('step'))}"
