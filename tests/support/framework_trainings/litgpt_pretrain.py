"""Pretraining with LitGPT, logged under the name "holter"."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import torch
from litgpt import Config
from litgpt.args import EvalArgs, TrainArgs
from litgpt.data import DataModule
from litgpt.pretrain import setup

import holter.integrations.litgpt


@dataclass
class Drawn(DataModule):
    """Random tokens."""

    def connect(self, tokenizer=None, batch_size: int = 1, max_seq_length: int | None = None) -> None:
        self.batch_size = batch_size

    def train_dataloader(self):
        generator = torch.Generator().manual_seed(0)
        return torch.utils.data.DataLoader(
            torch.randint(0, 50, (64, 17), generator=generator), batch_size=self.batch_size
        )

    val_dataloader = train_dataloader


assert holter.integrations.litgpt.NAME == "holter"
setup(
    "pythia-14m",
    model_config=Config(
        name="pythia-14m", block_size=16, vocab_size=64, padded_vocab_size=64, n_layer=1, n_head=2, n_embd=16
    ),
    out_dir=Path(sys.argv[1]),
    precision="32-true",
    data=Drawn(),
    train=TrainArgs(
        save_interval=None,
        log_interval=1,
        global_batch_size=4,
        micro_batch_size=4,
        max_tokens=4 * 16 * 6,
        max_seq_length=16,
        lr_warmup_steps=1,
        max_norm=1.0,
    ),
    eval=EvalArgs(interval=100, max_iters=1, initial_validation=False, final_validation=False),
    devices=1,
    logger_name="holter",
)
