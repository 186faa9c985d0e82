"""Random images in the place where Lightning has its own copy of MNIST before it downloads it."""

from __future__ import annotations

from pathlib import Path

import torch

folder = Path("Datasets/MNIST/complete")
folder.mkdir(parents=True)
generator = torch.Generator().manual_seed(0)
for name, count in (("training.pt", 60_000), ("test.pt", 10_000)):
    images = torch.randint(0, 256, (count, 28, 28), dtype=torch.uint8, generator=generator)
    torch.save((images, torch.randint(0, 10, (count,), generator=generator)), folder / name)
