"""Messages about incidents that are linked: they name one safe step, and that of all of them."""

from __future__ import annotations

import json
from dataclasses import replace

from sqlalchemy import Engine

from holter.types import Kind, Severity
from tests.support.alerting import SPIKE, Alerting, Clock, channels_at, make_candidate
from tests.support.receivers import SlackServer


def test_linked_incidents_have_one_safe_step_in_every_message(
    engine: Engine, clock: Clock, slack: SlackServer, run_id: int
) -> None:
    alerting = Alerting(engine, clock, channels_at(slack, settle=0))
    rise = replace(
        SPIKE,
        kind=Kind.SPIKE_UNRECOVERED,
        start_step=2001,
        detected_step=2010,
        evidence={"rollback_upto": 1901},
        advice="Go back to a checkpoint from step 1,901 or earlier.",
    )
    broken = replace(
        SPIKE,
        kind=Kind.NONFINITE,
        start_step=2300,
        detected_step=2300,
        severity=Severity.CRITICAL,
        evidence={},
        advice="Go back to a checkpoint from before step 2,300.",
    )
    alerting.incidents.update_run(run_id, [make_candidate(rise)])
    alerting.incidents.update_run(run_id, [make_candidate(rise), make_candidate(broken)])
    assert alerting.send_due() >= 1
    texts = [json.dumps(payload, ensure_ascii=False) for payload in slack.payloads]
    about_nan = next(text for text in texts if "NaN or infinity" in text)
    assert "*Last safe step*\\n1,901" in about_nan
    assert "before step 2,300" not in about_nan
    assert "step 1,901 or earlier" in about_nan
