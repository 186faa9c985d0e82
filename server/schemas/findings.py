"""The findings catalogue (holter.detectors.findings) as the pages receive it with the session."""

from __future__ import annotations

from holter.detectors.findings import EvidenceFormat
from holter.server.schemas.base import ApiObject
from holter.types import Severity


class CatalogueKind(ApiObject):
    """A kind of finding. `metric_titles` are more exact titles: pairs of a pattern, to be searched in the
    lower-case name of the metric, and a title; the first match counts. `provisional_title` is its title while
    it may still change, empty if it cannot.

    `severities`: the least severe first, by `severity_rule`. `evidence`: keys of the catalogue's fields.
    `unit_role`: the role whose unit its levels have, may be empty. `relative_noise`: its noise is a share of
    its level.
    """

    title: str
    metric_titles: list[list[str]]
    provisional_title: str
    meaning: str
    advice: str
    severities: list[Severity]
    severity_rule: str
    evidence: list[str]
    unit_role: str
    relative_noise: bool


class CatalogueField(ApiObject):
    """How a value of a finding's evidence is shown: see EvidenceField in detectors/findings."""

    label: str
    format: EvidenceFormat
    noun: str
    suffix: str
    minimum: int
    unless: str


class CatalogueSeverity(ApiObject):
    """A severity with its title; a higher `rank` is more severe."""

    name: Severity
    title: str
    rank: int


class FindingsCatalogue(ApiObject):
    """All kinds of findings by name, fields of evidence by key, severities (most severe first), and units.

    `metric_units` by role: pairs of a pattern, to be searched in the lower-case name of a metric, and a unit.
    The first match counts; those under "" are for all other roles.
    """

    kinds: dict[str, CatalogueKind]
    fields: dict[str, CatalogueField]
    severities: list[CatalogueSeverity]
    metric_units: dict[str, list[list[str]]]
