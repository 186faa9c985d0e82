"""Limits of tests on processor time: the stated ones, or larger ones on slower machines."""

from __future__ import annotations

import pytest

from tests.support import machine_speed
from tests.support.machine_speed import is_within, slowness


def test_a_machine_is_never_taken_for_a_quicker_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_speed, "USUAL_SECONDS", 1000.0)
    assert slowness() == 1
    assert is_within(0.9, 1.0)
    assert not is_within(1.1, 1.0)


def test_a_limit_is_larger_on_a_slower_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_speed, "_seconds", lambda: 3 * machine_speed.USUAL_SECONDS)
    assert slowness() == pytest.approx(3)
    assert is_within(2.9, 1.0)
    assert not is_within(3.1, 1.0)
