"""Streams of simulated examples, each seen once, and the models' losses on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

Random = np.random.Generator
SYMBOLS, LENGTH = 24, 12
"""Of sequences of tokens."""


@dataclass(frozen=True)
class Examples:
    """Inputs [n, ...] and targets [n, ...]."""

    inputs: Tensor
    targets: Tensor

    def __getitem__(self, rows: slice) -> Examples:
        return Examples(self.inputs[rows], self.targets[rows])

    def joined(self, other: Examples) -> Examples:
        """These examples and others after them."""
        return Examples(torch.cat((self.inputs, other.inputs)), torch.cat((self.targets, other.targets)))

    def with_moved_targets(self, share: float = 1.0) -> Examples:
        """The first `share` of the examples with the targets of their neighbours."""
        count = round(share * len(self.targets))
        moved = torch.cat((self.targets[:count].roll(1, 0), self.targets[count:]))
        return Examples(self.inputs, moved)

    def with_moved_inputs(self, share: float) -> Examples:
        """The first `share` of the examples with the inputs of their neighbours."""
        count = round(share * len(self.inputs))
        return Examples(torch.cat((self.inputs[:count].roll(1, 0), self.inputs[count:])), self.targets)


Source = Callable[[Random, Random, int, float], Examples]
"""Builds n examples: (generator of the source's rule, of its examples, n, label noise)."""


def teacher_values(rule: Random, random: Random, n: int, noise: float) -> Examples:
    """Values of a random network of tanh units on normal inputs [n, 16]."""
    inner, outer = rule.normal(0, 1 / 4, (16, 24)), rule.normal(0, 1 / 5, 24)
    inputs = random.normal(0, 1, (n, 16))
    values = 2 * np.tanh(inputs @ inner * 1.5) @ outer + random.normal(0, 0.1 + 2 * noise, n)
    return Examples(_floats(inputs), _floats(values[:, None]))


def clusters(rule: Random, random: Random, n: int, noise: float) -> Examples:
    """Ten classes of two normal clusters each, in 16 dimensions."""
    centers = rule.normal(0, 0.7, (20, 16))
    cluster = random.integers(20, size=n)
    return Examples(
        _floats(centers[cluster] + random.normal(0, 1, (n, 16))),
        _classes(random, cluster % 10, 10, noise),
    )


def markov_text(rule: Random, random: Random, n: int, noise: float) -> Examples:
    """Tokens [n, 12] of a chain whose next symbol depends on the last two; targets are the next tokens."""
    odds = rule.dirichlet(np.full(SYMBOLS, 0.15), (SYMBOLS, 5))
    limits = np.cumsum(odds, axis=2)
    tokens = np.empty((n, LENGTH + 1), dtype=np.int64)
    tokens[:, 0] = before = random.integers(SYMBOLS, size=n)
    last = tokens[:, 0]
    for place in range(1, LENGTH + 1):
        chosen = (limits[last, before % 5] < random.random(n)[:, None]).sum(axis=1).clip(max=SYMBOLS - 1)
        other = random.random(n) < noise
        tokens[:, place] = np.where(other, random.integers(SYMBOLS, size=n), chosen)
        before, last = last, tokens[:, place]
    return Examples(torch.from_numpy(tokens[:, :-1].copy()), torch.from_numpy(tokens[:, 1:].copy()))


def gratings(rule: Random, random: Random, n: int, noise: float) -> Examples:
    """Images [n, 1, 10, 10] of waves in eight directions with any phase."""
    across, along = np.meshgrid(np.arange(10), np.arange(10))
    angles = np.arange(8) * np.pi / 8 + rule.uniform(0, np.pi)
    kind, phase = random.integers(8, size=n), random.uniform(0, 2 * np.pi, n)
    way = np.cos(angles)[:, None, None] * across + np.sin(angles)[:, None, None] * along
    images = np.sin(1.2 * way.astype(np.float32)[kind] + phase.astype(np.float32)[:, None, None])
    images += 1.2 * random.standard_normal(images.shape, dtype=np.float32)
    return Examples(torch.from_numpy(images[:, None]), _classes(random, kind, 8, noise))


def tagged_tokens(rule: Random, random: Random, n: int, noise: float) -> Examples:
    """Tokens [n, 12] with a tag each that depends on the token and the one before."""
    table = rule.integers(6, size=(SYMBOLS, SYMBOLS))
    tokens = np.sqrt(random.random((n, LENGTH + 1)) * SYMBOLS**2).astype(np.int64)  # some are frequent
    tags = table[tokens[:, :-1], tokens[:, 1:]]
    other = random.random(tags.shape) < noise
    tags = np.where(other, random.integers(6, size=tags.shape), tags)
    return Examples(torch.from_numpy(tokens[:, 1:].copy()), torch.from_numpy(tags))


def curved_signals(rule: Random, random: Random, n: int, noise: float) -> Examples:
    """Signals [n, 20] on a curved surface of four dimensions, to be reconstructed."""
    inner, outer = rule.normal(0, 1, (4, 12)), rule.normal(0, 0.5, (12, 20))
    signals = np.tanh(random.normal(0, 1, (n, 4)) @ inner) @ outer
    inputs = _floats(signals + random.normal(0, 0.1 + noise, signals.shape))
    return Examples(inputs, inputs)


def frequent_symbols(rule: Random, random: Random, n: int, noise: float) -> Examples:
    """Tokens [n, 12] of four groups of symbols; the class is the group that occurs most."""
    group = rule.permutation(SYMBOLS) % 4
    tokens = random.integers(SYMBOLS, size=(n, LENGTH))
    counts = (group[tokens][:, :, None] == np.arange(4)).sum(axis=1)
    return Examples(torch.from_numpy(tokens), _classes(random, counts.argmax(axis=1), 4, noise))


def _floats(values: np.ndarray) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))


def _classes(random: Random, classes: np.ndarray, count: int, noise: float) -> Tensor:
    """Classes as int64, a share `noise` of them at random."""
    other = random.random(len(classes)) < noise
    return torch.from_numpy(np.where(other, random.integers(count, size=len(classes)), classes))


SOURCES: dict[str, Source] = {
    "regression_mlp": teacher_values,
    "classifier_mlp": clusters,
    "markov_transformer": markov_text,
    "markov_gru": markov_text,
    "images_cnn": gratings,
    "tagging_lstm": tagged_tokens,
    "autoencoder_mlp": curved_signals,
    "attention_classifier": frequent_symbols,
}
"""By the name of the model."""


class DataStream:
    """The examples of a run in their order: those of one source, or of two that share each batch."""

    def __init__(self, model: str, seed: tuple[int, ...], examples: int, noise: float, datasets: int) -> None:
        self._build = SOURCES[model]
        self._seed, self._noise = seed, noise
        self.sources = [
            self._source(number, examples // max(datasets, 1) + 1) for number in range(max(datasets, 1))
        ]
        self._foreign = self._source(9, 4096)
        self.probe = self._source(0, 256, part=1)

    def _source(self, number: int, n: int, part: int = 0) -> Examples:
        rule = np.random.default_rng([*self._seed, number])
        random = np.random.default_rng([*self._seed, number, part + 1])
        return self._build(rule, random, n, self._noise)

    def batch(self, position: int, size: int) -> Examples:
        """`size` examples from `position` on; with two sources, the first half is of the first one."""
        if len(self.sources) == 1:
            return self.sources[0][slice(position, position + size)]
        half = slice(position // 2, position // 2 + size // 2)
        return self.sources[0][half].joined(self.sources[1][half])

    def foreign(self, position: int, size: int) -> Examples:
        """`size` examples of a source that the run does not have."""
        start = position % (4096 - size)
        return self._foreign[slice(start, start + size)]
