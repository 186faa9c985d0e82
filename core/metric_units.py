"""The units that values of a metric are in, by the metric's role and name: one table for all outputs.

The patterns are searched in the metric's name in lower case; the first match gives the unit. They are
written so that Python and JavaScript read them alike: the web pages get the same table as JSON.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from holter.roles import Role

_Rules = tuple[tuple[str, str], ...]
_MILLISECONDS = (r"_ms$|\(ms\)|time.*ms\b", "ms")
_MICROSECONDS = (r"_us$|\(us\)", "µs")
_ANY = ""

OTHER_ROLES: _Rules = (_MILLISECONDS,)
"""The rules for roles that are not in the table; a metric that no rule matches has no unit."""

UNITS: Mapping[Role, _Rules] = {
    Role.THROUGHPUT: (
        # a slow-down is detected in step times too, and in the MFU, which has no unit
        _MILLISECONDS,
        (r"time|\bdt$", "s"),
        (r"mfu|hfu", ""),
        (r"flop", "TFLOPS"),
        (r"sample|sequence", "samples/s"),
        (r"tok|tps|tgs|wps", "tokens/s"),
        (r"step|it/s|batch", "steps/s"),
        (_ANY, "/s"),
    ),
    Role.STEP_TIME: (_MILLISECONDS, _MICROSECONDS, (_ANY, "s")),
    Role.COMPUTE_TIME: (_MILLISECONDS, _MICROSECONDS),
    Role.COLLECTIVE_TIME: (_MILLISECONDS, _MICROSECONDS),
    Role.MEMORY: (
        (r"percent|%", "%"),
        (r"gib(?![a-z])", "GiB"),
        (r"gb(?![a-z])", "GB"),
        (r"mib(?![a-z])", "MiB"),
        (r"mb(?![a-z])", "MB"),
        (r"bytes", "bytes"),
    ),
}


@lru_cache(maxsize=10_000)
def unit_of_metric(role: Role, metric: str) -> str:
    """The unit of a metric's values, such as "tokens/s"; empty where its name does not state one."""
    name = metric.lower()
    rules = UNITS.get(role, OTHER_ROLES)
    return next((unit for pattern, unit in rules if re.search(pattern, name)), "")


def units_as_json() -> dict[str, list[list[str]]]:
    """The rules by role, as pairs of a pattern and a unit; those under "" are for all other roles."""
    rules = {"": OTHER_ROLES, **{role.value: rules for role, rules in UNITS.items()}}
    return {role: [list(rule) for rule in some] for role, some in rules.items()}
