"""Shifts of the datasets' shares that move the total loss."""

from __future__ import annotations

import numpy as np
import pytest

from holter.detectors import find
from holter.detectors.detector import DetectorContext
from holter.detectors.mixture.shares import ShareThresholds, fit_shares
from holter.detectors.mixture.shift import MixtureShiftDetector
from holter.types import Finding, Series
from tests.support.curves import run, series

N = 4000
T = np.arange(N)


def parts(
    seed: int, shares: np.ndarray, *, samples: int, noise: float = 0.05
) -> tuple[np.ndarray, np.ndarray]:
    """Losses [k, n] of datasets, and the total [n] of batches drawn with these shares [n, k]."""
    rng = np.random.default_rng(seed)
    levels = np.linspace(1.6, 3.6, shares.shape[1])[:, None]
    losses = levels * (1 + 2 * (T + 20.0) ** -0.5) * (1 + noise * rng.normal(0, 1, (shares.shape[1], N)))
    drawn = rng.multinomial(samples, shares).T / samples
    return np.where(drawn > 0, losses, np.nan), np.nansum(drawn * losses, axis=0)


def logged(losses: np.ndarray, total: np.ndarray, *more: Series, **where: object) -> list[Series]:
    own = [series(f"loss/d{number}", loss, **where) for number, loss in enumerate(losses)]  # type: ignore[arg-type]
    return [series("loss", total, **where), *own, *more]  # type: ignore[arg-type]


def switched(*shares: tuple[int, tuple[float, ...]]) -> np.ndarray:
    """Shares [n, k] that hold from a step on, in order."""
    rows = np.empty((N, len(shares[0][1])))
    for step, values in shares:
        rows[step:] = values
    return rows


def detect(all_series: list[Series]) -> list[Finding]:
    return list(MixtureShiftDetector().detect(run(*all_series), DetectorContext()))


@pytest.mark.parametrize("samples", [16, 256, 4096])
@pytest.mark.parametrize("every", [1, 10])
def test_shares_that_are_not_logged_are_estimated(samples: int, every: int) -> None:
    shares = switched((0, (0.6, 0.3, 0.1)), (2000, (0.2, 0.3, 0.5)))
    (finding,) = detect(logged(*parts(0, shares, samples=samples), step=T * every))
    assert abs(finding.start_step - 2000 * every) <= 8 * every
    assert finding.severity == "warning"
    assert finding.evidence["shares_before"] == pytest.approx({"d0": 0.6, "d1": 0.3, "d2": 0.1}, abs=0.12)
    assert finding.evidence["shares"] == pytest.approx({"d0": 0.2, "d1": 0.3, "d2": 0.5}, abs=0.12)
    assert finding.evidence["by_shares"] > 5 * abs(finding.evidence["by_losses"])


def test_shares_that_are_logged_and_change_are_information() -> None:
    shares = switched((0, (0.6, 0.4)), (2000, (0.2, 0.8)))
    mixed = [series(f"mix/d{number}", shares[:, number]) for number in range(2)]
    (finding,) = detect(logged(*parts(0, shares, samples=256), *mixed))
    assert (finding.severity, finding.evidence["logged"]) == ("info", True)
    assert finding.evidence["shares"] == {"d0": 0.2, "d1": 0.8}


def test_shares_that_return_end_the_shift() -> None:
    for back in (2150, 3000):
        shares = switched((0, (0.6, 0.4)), (2000, (0.2, 0.8)), (back, (0.6, 0.4)))
        (finding,) = detect(logged(*parts(0, shares, samples=256)))
        assert finding.end_step is not None
        assert abs(finding.end_step - back) <= 40


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("samples", [8, 64, 1024])
def test_chance_in_the_draw_is_no_shift(count: int, samples: int) -> None:
    for seed in range(4):
        shares = np.tile(np.random.default_rng(seed).dirichlet(np.full(count, 3.0)), (N, 1))
        assert detect(logged(*parts(seed, shares, samples=samples))) == []


def test_a_dataset_that_gets_worse_is_no_shift() -> None:
    shares = switched((0, (0.6, 0.4)))
    rng = np.random.default_rng(0)
    losses = np.array([[2.0], [3.0]]) * (1 + 0.03 * rng.normal(0, 1, (2, N)))
    losses[1, 2000:] += 1.0
    assert detect(logged(losses, (shares.T * losses).sum(axis=0))) == []


def test_losses_that_do_not_make_up_the_total_give_no_finding() -> None:
    rng = np.random.default_rng(0)
    total = 2.5 * (1 + 0.02 * rng.normal(0, 1, N))
    total[2000:] += 2.0
    assert detect(logged(np.array([[2.0], [3.0]]) * (1 + 0.03 * rng.normal(0, 1, (2, N))), total)) == []


def test_a_shift_and_the_rise_it_explains_are_one_finding() -> None:
    shares = switched((0, (0.7, 0.3)), (2000, (0.1, 0.9)))
    findings = find(run(*logged(*parts(0, shares, samples=512, noise=0.01))))
    assert [finding.kind for finding in findings] == ["mixture_shift"]
    assert abs(findings[0].start_step - 2000) <= 3


def test_shares_that_the_losses_leave_open_stay_as_they_were() -> None:
    before = np.array([0.5, 0.3, 0.2])
    alike = np.full((64, 3), 2.0)
    assert fit_shares(alike.mean(axis=1), alike, before, ShareThresholds()) == pytest.approx(before)
    apart = np.array([1.0, 2.0, 4.0]) * np.random.default_rng(0).normal(1, 0.1, (64, 3))
    now = np.array([0.1, 0.3, 0.6])
    assert fit_shares(apart @ now, apart, before, ShareThresholds()) == pytest.approx(now, abs=0.01)


def test_a_shift_that_begins_with_a_restart_is_a_resume_artifact() -> None:
    shares = switched((0, (0.6, 0.4)), (2000, (0.2, 0.8)))
    where = {"attempt": (T >= 1990).astype(int)}
    (finding,) = detect(logged(*parts(0, shares, samples=64), **where))
    assert (finding.kind, finding.attempt, finding.start_step) == ("resume_artifact", 1, 1990)
    assert finding.detected_step >= 1990 + 150
    assert finding.evidence["shares"]["d1"] == pytest.approx(0.8, abs=0.1)


def test_a_total_that_rises_under_constant_logged_shares_is_no_mixture_shift() -> None:
    random, n = np.random.default_rng(4), 3000
    parts = [level * (1 + 0.03 * random.standard_normal(n)) for level in (1.2, 2.5, 3.4)]
    total = 0.5 * parts[0] + 0.3 * parts[1] + 0.2 * parts[2] + 0.5 * (np.arange(n) >= 1700)
    named = dict(zip(("web", "code", "math"), parts, strict=True))
    data = run(
        series("loss", total),
        *(series(f"loss/{name}", part) for name, part in named.items()),
        *(
            series(f"mix/{name}", np.full(n, share))
            for name, share in zip(named, (0.5, 0.3, 0.2), strict=True)
        ),
    )
    assert not list(MixtureShiftDetector().detect(data, DetectorContext()))
