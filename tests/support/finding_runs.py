"""Runs whose findings are on components, rewards, ratios and durations, and runs that are not judged."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tests.support.pages import Server

POINTS = 1200
ROW = np.arange(POINTS)


def noise(size: float, seed: int, points: int = POINTS) -> np.ndarray:
    """Normal noise."""
    return np.asarray(size * np.random.default_rng(seed).standard_normal(points))


def rise(at: int, over: int, points: int = POINTS) -> np.ndarray:
    """From 0 to 1 within `over` rows of row `at`."""
    return np.asarray(np.clip((np.arange(points) - at) / over, 0, 1))


class FindingRuns:
    """Ids of the runs on the server, by their names."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.ids: dict[str, str] = {}
        loss = 1 + 2 * np.exp(-ROW / 80) + noise(0.01, 2)
        self._post(
            "detector",
            loss=loss + 0.6 * rise(800, 40) * np.exp(-np.clip(ROW - 800, 0, None) / 150),
            loss_bbox=0.2 + 0.1 * rise(800, 100) + noise(0.002, 1),
            loss_cls=loss / 3,
            lr=np.full(POINTS, 2e-4),
        )
        self._post("exchange", train_loss=loss, boundary_loss=0.2 + 0.1 * rise(800, 100) + noise(0.002, 1))
        self._post(
            "rewards", reward=np.where(ROW < 700, 90, -20) + noise(3, 3), **{"train/loss": noise(0.1, 4)}
        )
        clipped = np.clip(np.where(ROW < 700, 0.2, 0.99) + noise(0.05, 5), 0, 1)
        self._post(
            "policy",
            **{
                "completions/clipped_ratio": clipped,
                "reward": 1 + noise(0.1, 6),
                "kl": 0.02 + abs(noise(0.003, 7)),
            },
        )
        self._post("accuracy", loss=loss, accuracy=np.clip(0.9 - 0.75 * rise(700, 1) + noise(0.02, 8), 0, 1))
        grown = np.exp(np.log(100) * rise(700, 100))
        self._post(
            "gradients",
            loss=loss,
            grad_norm=0.5 * grown * np.exp(noise(0.2, 9)),
            kl=0.1 + abs(noise(0.01, 1)),
        )
        seconds = 60 * np.exp(noise(0.04, 10, 160))
        seconds[100:] *= 4 / 3
        self._post("epochs", loss=2 * np.exp(-np.arange(160) / 40) + noise(0.01, 11, 160), epoch_time=seconds)
        gan = {"loss_G": 2 + noise(0.2, 12), "loss_D": 0.6 + noise(0.05, 13), "loss": 2.6 + noise(0.2, 14)}
        self._post("gan", **gan)
        self._post("unjudged", fitness=ROW / 10 + noise(3, 15), population=np.full(POINTS, 64))
        self._post("ten-points", loss=4 - 0.1 * np.arange(10))
        flat = 0.1234567 + noise(1e-7, 16)
        self._post("digits", loss=flat + 4e-6 * rise(800, 1))
        losses = {"train_loss": loss, "val_loss": loss + 0.02}
        losses["val_loss"] = losses["val_loss"] + 0.5 * rise(600, 500)
        self._post("overfitting", **{"train_loss": loss})
        at = ROW[::20]
        self._post("overfitting", steps=at, **{"eval_loss": losses["val_loss"][at]})
        self._post(
            "long",
            steps=1000 * ROW,
            train_loss=loss + 3 * rise(800, 2),
            kl=0.1 * np.exp(noise(0.1, 17) + 6 * rise(500, 100)),
        )
        row = np.arange(6000)
        self._post("slow-rise", loss=2 + 2 * rise(2500, 3000, 6000) + noise(0.3, 18, 6000))
        learnt = 1 - 0.3 * rise(3000, 40, 6000)
        self._post("dip", loss=(2 + 6 * (row + 20.0) ** -0.35) * learnt * np.exp(noise(0.02, 19, 6000)))
        evaluation = np.arange(24)
        runtime = np.where(evaluation < 12, 12, 60) * np.exp(noise(0.04, 20, 24))
        self._post("evaluations", steps=200 * (1 + evaluation), eval_runtime=runtime)
        broken = 0.5 + noise(0.05, 21)
        broken[900:] = np.nan
        self._post("terms", reward=np.minimum(ROW / 10, 90) + noise(3, 22), policy_loss=broken)
        self.ids["empty"] = self.server.post("empty", {"step": []}, config={"lr": 0.1})

    def _post(self, name: str, *, steps: ArrayLike | None = None, **columns: ArrayLike) -> None:
        length = len(np.asarray(next(iter(columns.values()))))
        at = np.arange(length) if steps is None else np.asarray(steps)
        now = time.time()
        sent: dict[str, list[Any]] = {
            "step": at.tolist(),
            "time": (now - 2.0 * (at.max() - at)).tolist(),
            **{
                metric: [value if value == value else "NaN" for value in np.asarray(values, float).tolist()]
                for metric, values in columns.items()
            },
        }
        self.ids[name] = self.server.post(name, sent)
