"""A loop of Accelerate with Holter's tracker."""

from __future__ import annotations

import torch
from accelerate import Accelerator

from holter.integrations.accelerate import HolterTracker

accelerator = Accelerator(cpu=True, log_with=HolterTracker("accelerate", project="tests"))
accelerator.init_trackers("ignored", config={"lr": 0.1, "hub_token": "hf_abcdefghijklmnopqrstuvwx"})
layer = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
layer, optimizer = accelerator.prepare(layer, optimizer)
for step in range(10):
    loss = layer(torch.ones(2, 4)).square().mean()
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
    accelerator.log({"train_loss": loss.item(), "lr": 0.1}, step=step)
accelerator.end_training()
