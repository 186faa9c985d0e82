"""Trains small language models, many seeds and variants of a configuration at once, and stores their losses.

Runs in the laboratory's environment with torch (benchmarks/laboratory/environment.py). Models predict the
next character of Python's standard library from those before it. All replicas of a configuration are trained
together as one batched model; each has its own parameters, batches and optimizer state, and none influences
another one.
"""

from __future__ import annotations

import argparse
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

VARIANTS = ("base", "init", "repeat", "rate", "slight", "decay", "data")
"""`base` is what others differ from, by one thing each, with the same batches. `init`: other initial weights.
`repeat`: initial weights that differ by rounding, as on hardware that adds in another order. `rate`: learning
rate x 1.3. `slight`: x 1.03. `decay`: another weight decay. `data`: 5 % of the examples come from a copy of
the data whose characters were shuffled. `base` of other seeds has other weights and other batches."""
RATE_FACTORS = {"rate": 1.3, "slight": 1.03}
ROUNDING = 1e-6
REPLACED_SHARE = 0.05
SYMBOLS = 97
CONTEXT = 12


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """Settings that all replicas of a configuration share. `decay`: weight decay, and that of the variant."""

    width: int
    hidden: int
    batch: int
    steps: int
    rate: float
    cosine: bool
    decay: tuple[float, float]


def _settings(width: int, hidden: int, batch: int, steps: int, rate: float, schedule: str) -> Configuration:
    return Configuration(
        width=width,
        hidden=hidden,
        batch=batch,
        steps=steps,
        rate=rate,
        cosine=schedule == "cosine",
        decay=(0.01, 1.0),
    )


CONFIGURATIONS = {
    "development": (
        _settings(16, 64, 64, 1600, 2e-3, "cosine"),
        _settings(24, 192, 64, 1200, 1.5e-3, "constant"),
    ),
    "reserved": (
        _settings(24, 160, 64, 1600, 1e-3, "cosine"),
        _settings(16, 96, 96, 1500, 3e-3, "cosine"),
        _settings(24, 192, 64, 1400, 2e-3, "constant"),
        _settings(16, 128, 128, 1200, 2e-3, "cosine"),
        _settings(32, 128, 64, 1500, 1.5e-3, "constant"),
        _settings(16, 64, 96, 2000, 2.5e-3, "cosine"),
    ),
}


def corpus() -> np.ndarray[Any, np.dtype[np.int64]]:
    """The standard library's modules as symbols [n]: printable ASCII, and one for everything else."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    content = b"".join(path.read_bytes() for path in sorted(folder.glob("*.py")))
    symbols = np.frombuffer(content, np.uint8).astype(np.int64) - 32
    return np.where((symbols >= 0) & (symbols < SYMBOLS - 1), symbols, SYMBOLS - 1)


def train(settings: Configuration, seeds: int, first_seed: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """The logged training losses [variants, seeds, steps] of one configuration."""
    text = corpus()
    shuffled = np.random.default_rng(0).permutation(text)
    both = torch.from_numpy(np.concatenate((text, shuffled)))
    replicas = len(VARIANTS) * seeds
    orders = [np.random.default_rng((first_seed + seed, 1)) for seed in range(seeds)]
    parameters = _initial(settings, seeds, first_seed)
    first = [torch.zeros_like(each) for each in parameters]
    second = [torch.zeros_like(each) for each in parameters]
    variant = np.repeat(np.arange(len(VARIANTS)), seeds)
    factor = torch.from_numpy(
        np.array([RATE_FACTORS.get(VARIANTS[number], 1.0) for number in variant])
    ).float()[:, None, None]
    decay = torch.from_numpy(
        np.where(variant == VARIANTS.index("decay"), settings.decay[1], settings.decay[0])
    ).float()[:, None, None]
    window = torch.arange(CONTEXT + 1)
    offset = torch.arange(replicas)[:, None, None] * SYMBOLS
    losses = np.empty((settings.steps, replicas), np.float32)
    for step in range(settings.steps):
        starts = np.stack([order.integers(0, len(text) - CONTEXT - 1, settings.batch) for order in orders])
        replaced = np.stack([order.random(settings.batch) < REPLACED_SHARE for order in orders])
        starts = np.tile(starts, (len(VARIANTS), 1))
        starts[variant == VARIANTS.index("data")] += replaced * len(text)
        sequence = both[torch.from_numpy(starts)[:, :, None] + window]
        loss = _loss(parameters, sequence[:, :, :-1] + offset, sequence[:, :, -1])
        losses[step] = loss.detach().numpy()
        gradients = torch.autograd.grad(loss.sum(), parameters)
        rate = settings.rate * _schedule(step, settings)
        _update(parameters, gradients, first, second, step, rate * factor, decay)
    return losses.T.reshape(len(VARIANTS), seeds, settings.steps)


def _by_replica(values: np.ndarray[Any, Any]) -> torch.Tensor:
    """One value for each replica [r, 1, 1]."""
    return torch.from_numpy(values).float()[:, None, None]


def _initial(settings: Configuration, seeds: int, first_seed: int) -> list[torch.Tensor]:
    """The parameters of all replicas: those of one seed are equal in all variants but `init` and `repeat`."""
    inputs = CONTEXT * settings.width
    shapes = [
        ((SYMBOLS, settings.width), 1.0),
        ((inputs, settings.hidden), inputs**-0.5),
        ((1, settings.hidden), 0.0),
        ((settings.hidden, SYMBOLS), settings.hidden**-0.5),
        ((1, SYMBOLS), 0.0),
    ]
    parameters = []
    for number, (shape, scale) in enumerate(shapes):
        tensors = []
        for variant in VARIANTS:
            for seed in range(seeds):
                key = first_seed + seed + (1_000_000 if variant == "init" else 0)
                generator = np.random.default_rng((key, 2, number))
                weights = scale * generator.normal(0, 1, shape)
                if variant == "repeat":
                    weights *= 1 + ROUNDING * generator.normal(0, 1, shape)
                tensors.append(torch.from_numpy(weights.astype(np.float32)))
        parameters.append(torch.stack(tensors).requires_grad_())
    return parameters


def _loss(parameters: list[torch.Tensor], inputs: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The mean loss of each replica [r]. `inputs` [r, batch, context] are rows of all embeddings together."""
    embedding, inner, inner_bias, outer, outer_bias = parameters
    replicas, batch, _ = inputs.shape
    vectors = torch.nn.functional.embedding(inputs, embedding.flatten(0, 1))
    hidden = torch.baddbmm(inner_bias, vectors.reshape(replicas, batch, -1), inner).tanh()
    logits = torch.baddbmm(outer_bias, hidden, outer)
    each = torch.nn.functional.cross_entropy(
        logits.reshape(-1, SYMBOLS), target.reshape(-1), reduction="none"
    )
    return each.reshape(replicas, batch).mean(1)


def _schedule(step: int, settings: Configuration) -> float:
    """The share of the peak learning rate: a short warm-up, then constant or a cosine."""
    warm = min((step + 1) / 50, 1.0)
    return warm * (0.5 + 0.5 * np.cos(np.pi * step / settings.steps) if settings.cosine else 1.0)


@torch.no_grad()
def _update(
    parameters: list[torch.Tensor],
    gradients: tuple[torch.Tensor, ...],
    first: list[torch.Tensor],
    second: list[torch.Tensor],
    step: int,
    rate: torch.Tensor,
    decay: torch.Tensor,
) -> None:
    """One step of AdamW (Loshchilov and Hutter 2019) with a rate and a decay for each replica."""
    for parameter, gradient, mean, square in zip(parameters, gradients, first, second, strict=True):
        mean.lerp_(gradient, 0.1)
        square.mul_(0.98).addcmul_(gradient, gradient, value=0.02)
        scale = (square / (1 - 0.98 ** (step + 1))).sqrt_().add_(1e-8)
        parameter.mul_(1 - rate * decay).sub_(rate * (mean / (1 - 0.9 ** (step + 1))).div_(scale))


def main() -> None:
    """Train the configurations of a list and store each one's losses in `FOLDER/LIST-NUMBER.npy`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--list", choices=tuple(CONFIGURATIONS), default="development")
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--only", type=int, nargs="*")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for number, settings in enumerate(CONFIGURATIONS[arguments.list]):
        if arguments.only is None or number in arguments.only:
            losses = train(settings, arguments.seeds, arguments.first_seed + 1000 * number)
            np.save(arguments.folder / f"{arguments.list}-{number}.npy", losses)


if __name__ == "__main__":
    main()
