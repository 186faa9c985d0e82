"""The types of the findings catalogue: one `FindingType` per kind of finding or incident."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from holter.roles import Role
from holter.types import Severity


class EvidenceFormat(StrEnum):
    """How a value of a finding's evidence is shown."""

    NUMBER = "number"
    """A number without unit, three significant digits."""
    STEP = "step"
    """A step of the run."""
    COUNT = "count"
    """A number of things; the field's `noun` names one of them."""
    MULTIPLE = "multiple"
    """A factor: "3.1 times"."""
    SHARE = "share"
    """A fraction of one, shown in percent."""
    LEVEL = "level"
    """A value of the finding's own series, in the unit of `evidence["unit"]` or of the metric's name."""
    TIME = "time"
    """A time in the unit of the finding's own series, seconds or milliseconds."""
    GROWTH = "growth"
    """A change of the finding's own series, in the unit that `evidence["unit"]` states."""
    NOISE = "noise"
    """A standard deviation: a share of the level for kinds with `relative_noise`, else a number."""
    SECONDS = "seconds"
    """A duration in seconds."""
    MILLISECONDS = "milliseconds"
    """A duration in milliseconds."""
    CLOCK = "clock"
    """A moment in Unix seconds."""
    FLAG = "flag"
    """Yes or no."""
    TEXT = "text"
    """A text or a name, as it is."""
    LIST = "list"
    """Names or numbers, separated by commas."""
    CHANGE = "change"
    """The value before and the value after."""
    SHARES = "shares"
    """Fractions of one by name, the largest first."""
    COUNTS = "counts"
    """Numbers by name."""
    REFERENCES = "references"
    """Another finding, or a list of them, each as `Finding.as_reference` gives it."""
    RELATED_CHANGES = "related_changes"
    """Changes of other metrics: {"what", "metric", "before", "value", "step"}."""
    HIDDEN = "hidden"
    """Not shown by itself: another field is shown with it."""


@dataclass(frozen=True, kw_only=True)
class EvidenceField:
    """One value of a finding's evidence: its key in the JSON, its label, and how it is shown.

    `noun`: what a COUNT counts, in the singular. `suffix`: a text after the value. `minimum`: lists with
    fewer entries and counts below it are not shown. `unless`: the key of another field that states the same;
    where the evidence has it, this one is not shown.
    """

    key: str
    label: str
    format: EvidenceFormat = EvidenceFormat.NUMBER
    noun: str = ""
    suffix: str = ""
    minimum: int = 0
    unless: str = ""


@dataclass(frozen=True, kw_only=True)
class SeverityRule:
    """The severities that findings of a kind can have, the least severe first, and what decides on it."""

    severities: tuple[Severity, ...]
    rule: str = ""


INFO_ONLY = SeverityRule(severities=(Severity.INFO,))
WARNING_ONLY = SeverityRule(severities=(Severity.WARNING,))


@dataclass(frozen=True, kw_only=True)
class FindingType:
    """Everything that is stated about a kind of finding or incident, once for all outputs.

    `kind`: its name in JSON. `title`: its name for people. `metric_titles`: more exact titles by metric,
    pairs of a regular expression, to be searched in the metric's name in lower case, and a title; the first
    match counts. Python and JavaScript read them alike. `provisional_title`: its title while it may still
    turn out to be another kind. `meaning`: a sentence on what has happened. `advice`: what to do in general;
    a finding's own advice says it with steps and names. `severity`: how severe it can be. `evidence`: the
    values that its findings rest on. `unit_role`: the role whose units its LEVEL values are in.
    `relative_noise`: whether its noise is a share of the level. `signal`: the name shared by kinds that one
    finding may pass through while it develops, its own kind where it is empty. `example`: a summary.
    """

    kind: str
    title: str
    metric_titles: tuple[tuple[str, str], ...] = ()
    provisional_title: str = ""
    meaning: str
    advice: str
    severity: SeverityRule
    evidence: tuple[EvidenceField, ...] = ()
    unit_role: Role | None = None
    relative_noise: bool = False
    signal: str = ""
    example: str = ""

    @property
    def only_severity(self) -> Severity:
        """The severity of every finding of this kind. Raises ValueError where there are several."""
        (severity,) = self.severity.severities
        return severity


def in_sentence(title: str) -> str:
    """A title as it is written within a sentence: in lower case, unless it begins with an abbreviation."""
    first = title.partition(" ")[0]
    return title if first[1:] != first[1:].lower() else f"{title[:1].lower()}{title[1:]}"
