"""A loop of one's own as in nanoGPT: evaluations, checkpoints, gradient accumulation, torchrun or alone."""

from __future__ import annotations

import os
import sys
import time

import torch
import torch.distributed

from holter.integrations import TrainingMonitor

STEPS = int(sys.argv[2])
if "RANK" in os.environ:
    torch.distributed.init_process_group("gloo")
monitor = TrainingMonitor("tests", sys.argv[3], {"lr": 0.1, "n_layer": 2}, act=True, request_steps=5)
layer = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
loader = torch.utils.data.DataLoader(
    [{"x": torch.ones(4), "index": number % 50, "shard": 3} for number in range(4 * STEPS)], batch_size=2
)
batches = monitor.batches(loader, epoch=0)
step = 0
while step < STEPS:
    for _ in range(2):
        loss = layer(next(batches)["x"]).square().mean()
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    time.sleep(0.02 if STEPS > 100 else 0.0)
    monitor.step(step, {"loss": loss, "lr": 0.1})
    if monitor.should_save or step == 5:
        with monitor.saving():
            torch.save(layer.state_dict(), os.path.join(sys.argv[1], f"step-{step}.pt"))
    if monitor.should_stop:
        break
    step += 1
sys.stdout.write(f"steps {step}\n")
monitor.finish()
