"""Small models. Each maps a batch of inputs to a loss per example [batch]."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from laboratory.training.data import LENGTH, SYMBOLS, Examples


class SmallModel(nn.Module):
    """A model whose `first` and `last` layers are where mechanisms damage it; `middle` has rows to lose."""

    first: nn.Module
    middle: nn.Module
    last: nn.Module

    def losses(self, batch: Examples) -> Tensor:
        """The loss of each example [n]: cross entropy, or squared error where targets are not whole."""
        output = self(batch.inputs)
        if batch.targets.is_floating_point():
            return ((output - batch.targets) ** 2).flatten(1).mean(1)
        losses = functional.cross_entropy(output.flatten(0, -2), batch.targets.flatten(), reduction="none")
        return losses.view(len(batch.targets), -1).mean(1)


class LayeredModel(SmallModel):
    """Two hidden layers."""

    def __init__(self, inputs: int, width: int, outputs: int) -> None:
        super().__init__()
        self.first, self.middle = nn.Linear(inputs, width), nn.Linear(width, width)
        self.last = nn.Linear(width, outputs)

    def forward(self, values: Tensor) -> Tensor:
        return self.last(functional.gelu(self.middle(functional.gelu(self.first(values)))))


class Block(nn.Module):
    """A block of a transformer, with normalisation before each half."""

    def __init__(self, width: int, *, causal: bool) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.mix, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self._causal = causal

    def forward(self, values: Tensor) -> Tensor:
        n, length, width = values.shape
        mixed = self.mix(self.norms[0](values)).view(n, length, 3, 2, width // 2).permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(*mixed.unbind(), is_causal=self._causal)
        values = values + self.out(attended.transpose(1, 2).reshape(n, length, width))
        return values + self.down(functional.gelu(self.up(self.norms[1](values))))


class TokenTransformer(SmallModel):
    """Blocks over tokens: the next token at each place, or with `classes` one class per sequence."""

    def __init__(self, width: int, blocks: int, *, classes: int | None = None) -> None:
        super().__init__()
        self.first = nn.Embedding(SYMBOLS, width)
        self.places = nn.Parameter(torch.randn(LENGTH, width) * 0.1)
        self.blocks = nn.Sequential(*(Block(width, causal=classes is None) for _ in range(blocks)))
        self.middle, self.norm = self.blocks[0].up, nn.LayerNorm(width)
        self.last = nn.Linear(width, classes or SYMBOLS)
        self._pools = classes is not None

    def forward(self, tokens: Tensor) -> Tensor:
        values = self.norm(self.blocks(self.first(tokens) + self.places))
        return self.last(values.mean(1) if self._pools else values)


class RecurrentModel(SmallModel):
    """A GRU or LSTM over tokens, with an output at each place."""

    def __init__(self, kind: type[nn.GRU | nn.LSTM], width: int, outputs: int) -> None:
        super().__init__()
        self.first = nn.Embedding(SYMBOLS, width)
        self.cell = kind(width, width, batch_first=True)
        self.middle, self.last = nn.Linear(width, width), nn.Linear(width, outputs)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.last(functional.gelu(self.middle(self.cell(self.first(tokens))[0])))


class ConvolutionalModel(SmallModel):
    """Two convolutions and a linear layer over images [n, 1, 10, 10]."""

    def __init__(self, width: int, outputs: int) -> None:
        super().__init__()
        channels = width // 3
        self.first = nn.Conv2d(1, channels, 3, stride=2)
        self.middle = nn.Conv2d(channels, 2 * channels, 3)
        self.last = nn.Linear(2 * channels * 4, outputs)

    def forward(self, images: Tensor) -> Tensor:
        return self.last(functional.relu(self.middle(functional.relu(self.first(images)))).flatten(1))


def build_model(name: str, width: int) -> SmallModel:
    """The model of that name in `lists.py`."""
    narrow = width * 2 // 3 // 4 * 4
    if name == "regression_mlp":
        return LayeredModel(16, width, 1)
    if name == "classifier_mlp":
        return LayeredModel(16, width, 10)
    if name == "autoencoder_mlp":
        return LayeredModel(20, width, 20)
    if name == "markov_transformer":
        return TokenTransformer(narrow, 2)
    if name == "attention_classifier":
        return TokenTransformer(narrow, 1, classes=4)
    if name == "markov_gru":
        return RecurrentModel(nn.GRU, narrow, SYMBOLS)
    if name == "tagging_lstm":
        return RecurrentModel(nn.LSTM, narrow, 6)
    if name == "images_cnn":
        return ConvolutionalModel(width, 8)
    raise ValueError(f"no model is named {name}")
