"""Settings of routing as lines of holter.toml: what is written makes the same policy when it is read."""

from __future__ import annotations

import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from holter.server.alerting.routing import build_policy
from holter.server.alerting.routing.settings_text import read_settings_text, settings_text
from holter.server.channels import open_channels
from holter.settings.alerting import AlertingSettings

CHANNELS = open_channels(
    {
        name: {"type": "slack", "url": "https://hooks.slack.com/services/T/B/x", "minimum": minimum}
        for name, minimum in (("team", "warning"), ("on call", "critical"))
    }
)
ALL = """
[alerting]
builtin_inhibition = false

[alerting.route]
receiver = "both"
group_by = ["project", "kind"]
group_wait = "30s"
repeat_interval = "1h30m"

[[alerting.route.routes]]
matchers = ['run=~"a\\\\.b|é\\""', "severity=critical"]
receiver = "on call"
escalate_after = "250ms"
escalate_to = "both"
continue = true

[[alerting.route.routes.routes]]
matchers = ["rank=3"]
mute_time_intervals = ["nights of work"]

[alerting.receivers.both]
channels = ["team", "on call"]

[[alerting.inhibit_rules]]
source_matchers = ["kind=nonfinite"]
target_matchers = ["kind=mixture_shift"]
equal = ["run"]

[[alerting.time_intervals."nights of work"]]
times = [{ start_time = "22:00", end_time = "24:00" }]
weekdays = ["monday:friday"]
location = "Europe/Berlin"

[alerting.digests.Daily]
receiver = "team"
at = "08:30"
"""


def written(settings: AlertingSettings) -> str:
    return settings_text(settings, build_policy(CHANNELS, settings))


def test_all_settings_are_written_as_they_were() -> None:
    text = written(read_settings_text(ALL))
    assert tomllib.loads(text) == tomllib.loads(ALL)
    assert text.splitlines()[:2] == ["[alerting]", "builtin_inhibition = false"]


def test_a_policy_without_a_tree_is_written_as_a_tree_that_decides_the_same() -> None:
    policy = build_policy(CHANNELS, read_settings_text(written(AlertingSettings())))
    assert [
        (route.receiver, [str(matcher) for matcher in route.matchers]) for route in policy.root.walk()
    ] == [
        ("none", []),
        ("team", ['severity=~"warning|critical"']),
        ("on call", ['severity=~"critical"']),
    ]
    assert not policy.root.repeat_interval


def test_addresses_and_tokens_are_not_written() -> None:
    heartbeat = {"heartbeat": {"url": "https://hc-ping.com/very-secret"}}
    settings = AlertingSettings.model_validate(heartbeat)
    assert "secret" not in written(settings)


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
ROUTES: st.SearchStrategy[dict[str, Any]] = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "receiver": st.sampled_from(["team", "on call", "none"]),
            "matchers": st.lists(NAMES.map(lambda text: f"run={text.encode().hex()}"), max_size=2),
            "group_by": st.lists(NAMES, min_size=1, max_size=2),
            "group_wait": st.integers(0, 10**8).map(lambda number: number / 4),
            "critical_passes": st.booleans(),
            "continue": st.booleans(),
        },
    ),
    lambda inner: st.builds(
        lambda route, routes: route | {"routes": routes}, inner, st.lists(inner, max_size=3)
    ),
    max_leaves=6,
)


@given(ROUTES, st.lists(NAMES, max_size=2, unique=True))
def test_any_tree_is_read_as_it_was_written(route: dict[str, Any], intervals: list[str]) -> None:
    root = route | {"receiver": "team", "matchers": [], "continue": False}
    settings = AlertingSettings.model_validate(
        {"route": root, "time_intervals": {name: [{"weekdays": ["monday"]}] for name in intervals}}
    )
    assert read_settings_text(written(settings)) == settings
