"""The base class of detectors' thresholds, from which the documentation's table of thresholds is made."""

from __future__ import annotations


class Thresholds:
    """Base of every frozen dataclass whose fields are thresholds of one detector or one method.

    Each field has a default and is followed by a string literal with its unit, its reason and, where it has
    one, its source. `docs/generate.py` collects all subclasses with these texts::

        @dataclass(frozen=True, kw_only=True)
        class StallThresholds(Thresholds):
            \"\"\"When a pause between two points counts as a stall.\"\"\"

            shortest_seconds: float = 600.0
            \"\"\"Seconds. Shorter pauses are those of checkpoints and evaluations.\"\"\"
            longest_pauses: float = 5.0
            \"\"\"Times the longest regular pause. Source: measured on the labelled runs.\"\"\"

    A detector has its instance in the field `thresholds` and passes it, or a nested one, to its functions.
    """
