"""A Trainer of Lightning with Holter's logger and callback: validations, checkpoints, batch indices."""

from __future__ import annotations

import os
import sys

import torch

if sys.argv[2] == "pytorch_lightning":
    import pytorch_lightning as lightning
else:
    import lightning.pytorch as lightning
from holter.integrations.lightning import HolterLogger, LightningCallback


class Module(lightning.LightningModule):
    def __init__(self, width: int = 8, api_key: str = "sk-abcdefghijklmnopqrst") -> None:
        super().__init__()
        self.save_hyperparameters()
        self.layer = torch.nn.Linear(4, 1)

    def training_step(self, batch, batch_idx):
        loss = (self.layer(batch["x"]) - 1).square().mean()
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        self.log("val_loss", (self.layer(batch["x"]) - 1).square().mean())

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


data = [{"x": torch.full((4,), float(number)), "index": number} for number in range(32)]
loader = torch.utils.data.DataLoader(data, batch_size=4)
injected = bool(os.environ.get("HOLTER_LIGHTNING"))
trainer = lightning.Trainer(
    max_epochs=2,
    accelerator="cpu",
    logger=False if injected else HolterLogger(project="tests", run="lightning"),
    callbacks=[] if injected else [LightningCallback()],
    log_every_n_steps=2,
    default_root_dir=sys.argv[1],
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(Module(), loader, loader)
sys.stdout.write(f"steps {trainer.global_step}\n")
