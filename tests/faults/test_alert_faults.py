"""Notifications arrive although receivers fail half of the time and the server is killed: a few kills.

`benchmarks/alert_faults.py faults` does the same with two hundred.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.alert_faults import FaultResult, Receipt, deliver_under_faults


@pytest.mark.slow
def test_every_incident_arrives_under_one_key_and_again_only_where_the_answer_was_lost(
    tmp_path: Path,
) -> None:
    result = deliver_under_faults(tmp_path, kills=2, runs_per_life=1, seed=3, life=0.5, drain=300)
    assert len(result.runs) == len(result.kills) == 2
    for channel in ("web", "mail"):
        assert result.missing(channel) == []
        assert result.with_several_keys(channel) == []
        assert result.duplicates(channel).get("no reason", 0) == 0


def receipt(run: str, at: float, *, key: str = "k", lost: bool = False) -> Receipt:
    return Receipt(channel="web", key=key, subject=f"NaN in {run} at step 60 ", at=at, lost=lost)


def test_what_is_missing_or_repeated_without_a_reason_is_found() -> None:
    receipts = (
        receipt("a", 1, lost=True), receipt("a", 2), receipt("b", 10), receipt("b", 12),
        receipt("c", 20), receipt("c", 40, key="other"),
    )  # fmt: skip
    result = FaultResult(runs=("a", "b", "c", "d"), receipts=receipts, kills=(10.5,), faults={}, seconds=1.0)
    assert result.missing("web") == ["d"]
    assert result.with_several_keys("web") == ["c"]
    assert result.duplicates("web") == {"answer lost": 1, "killed": 1, "no reason": 1}
