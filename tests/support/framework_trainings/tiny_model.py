"""A language model of Hugging Face with a few thousand weights, and sequences for it."""

from __future__ import annotations

import torch
from transformers import LlamaConfig, LlamaForCausalLM

VOCABULARY = 64
SEQUENCE = 16


def model() -> LlamaForCausalLM:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=SEQUENCE,
    )
    return LlamaForCausalLM(config)


def sequences(count: int) -> list[dict[str, torch.Tensor]]:
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randint(0, VOCABULARY, (count, SEQUENCE), generator=generator)
    return [{"input_ids": row, "labels": row.clone()} for row in drawn]
