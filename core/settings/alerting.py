"""Settings of notifications in Alertmanager's terms: routes, receivers, inhibition, time intervals, digests.

The form only: matchers, times and names of receivers are checked where they are compiled
(`holter.server.alerting.routing`).
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    field_validator,
)

_UNITS = {"w": 604_800.0, "d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_DURATION = re.compile(r"(?:\d{1,9}(?:w|d|h|ms|m|s))+", re.ASCII)
_DURATION_PART = re.compile(r"(\d{1,9})(w|d|h|ms|m|s)", re.ASCII)


def parse_duration(value: Any) -> Any:
    """Seconds of a duration as Prometheus writes it (`30s`, `5m`, `1h30m`, `4h`, `1d`), or of a number."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if text == "0":
        return 0.0
    if _DURATION.fullmatch(text) is None:
        raise ValueError('expected a duration such as "30s", "5m", "4h" or "1d"')
    return sum(int(number) * _UNITS[unit] for number, unit in _DURATION_PART.findall(text))


Duration = Annotated[float, BeforeValidator(parse_duration), Field(ge=0, le=366 * 86_400)]


class _AlertingModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, populate_by_name=True)


class RouteSettings(_AlertingModel):
    """A node of the tree of routes; what is not set is inherited from the node above, matchers excepted."""

    receiver: str = ""
    matchers: tuple[str, ...] = ()
    group_by: tuple[str, ...] | None = None
    group_wait: Duration | None = None
    group_interval: Duration | None = None
    repeat_interval: Duration | None = None
    continue_: bool = Field(False, alias="continue")
    mute_time_intervals: tuple[str, ...] = ()
    active_time_intervals: tuple[str, ...] = ()
    critical_passes: bool | None = None
    escalate_after: Duration | None = None
    escalate_to: str | None = None
    routes: tuple[RouteSettings, ...] = ()


class ReceiverSettings(_AlertingModel):
    """The channels of a receiver, `[alerting.receivers.NAME]`."""

    channels: tuple[str, ...] = Field(min_length=1)


class InhibitRuleSettings(_AlertingModel):
    """An open incident that `source_matchers` match mutes those of `target_matchers` with equal labels."""

    source_matchers: tuple[str, ...] = Field(min_length=1)
    target_matchers: tuple[str, ...] = Field(min_length=1)
    equal: tuple[str, ...] = ()


class TimeRangeSettings(_AlertingModel):
    """A range of the day, `start_time` included and `end_time` excluded: "22:00" to "24:00"."""

    start_time: str
    end_time: str


class TimeIntervalSettings(_AlertingModel):
    """A time interval: every field that is set must contain the time. Of a list, one element must."""

    times: tuple[TimeRangeSettings, ...] = ()
    weekdays: tuple[str, ...] = ()
    days_of_month: tuple[str, ...] = ()
    months: tuple[str, ...] = ()
    years: tuple[str, ...] = ()
    location: str = "UTC"


class DigestSettings(_AlertingModel):
    """A regular message about the incidents of a day or a week, `[alerting.digests.NAME]`."""

    receiver: str
    every: Literal["day", "week"] = "day"
    at: str = Field("08:00", pattern=r"^([01]\d|2[0-3]):[0-5]\d$")
    weekday: str = "monday"
    location: str = "UTC"
    matchers: tuple[str, ...] = ()


class NoDataSettings(_AlertingModel):
    """When data that does not come is an incident, `[alerting.no_data]`; 0: never.

    `first_point`: seconds after which an announced run or a started agent should have sent a point.
    `silence`: seconds without a point in runs whose stalls cannot be detected, without a clock or with few
    points.
    """

    first_point: Duration = 3600.0
    silence: Duration = 3600.0


class HeartbeatSettings(_AlertingModel):
    """A dead man's switch, `[alerting.heartbeat]`: `url` is requested while all workers make progress.

    `limit`: seconds without a completed turn after which a worker counts as hanging. A request takes
    `timeout` seconds at most. `allow_private`: the address may be a private, loopback or link-local one.
    """

    url: SecretStr | None = None
    method: Literal["GET", "POST"] = "GET"
    every: Annotated[Duration, Field(ge=1)] = 60.0
    limit: Annotated[Duration, Field(ge=30)] = 300.0
    timeout: Annotated[Duration, Field(gt=0, le=60)] = 10.0
    allow_private: bool = False

    @field_validator("url")
    @classmethod
    def _is_web_address(cls, value: SecretStr | None) -> SecretStr | None:
        parts = urlsplit(value.get_secret_value() if value else "http://none")
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError("expected an address such as https://hc-ping.com/UUID")
        return value


class AlertingSettings(_AlertingModel):
    """The table `[alerting]` of holter.toml (docs/alerts.md).

    Without `route` every channel gets what its own `minimum` allows.
    """

    route: RouteSettings | None = None
    receivers: dict[str, ReceiverSettings] = Field(default_factory=dict)
    inhibit_rules: tuple[InhibitRuleSettings, ...] = ()
    builtin_inhibition: bool = True
    time_intervals: dict[str, tuple[TimeIntervalSettings, ...]] = Field(default_factory=dict)
    digests: dict[str, DigestSettings] = Field(default_factory=dict)
    report_failing_channels: bool = True
    no_data: NoDataSettings = NoDataSettings()
    heartbeat: HeartbeatSettings = HeartbeatSettings()
