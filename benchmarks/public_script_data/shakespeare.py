"""Data of nanoGPT in the form of its shakespeare_char: random characters instead of a text."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np

folder = Path("data/shakespeare_char")
folder.mkdir(parents=True)
random = np.random.default_rng(0)
for name, count in (("train.bin", 20_000), ("val.bin", 2_000)):
    random.zipf(1.5, count).clip(0, 64).astype(np.uint16).tofile(folder / name)
names = [chr(32 + number) for number in range(65)]
(folder / "meta.pkl").write_bytes(
    pickle.dumps(
        {
            "vocab_size": 65,
            "itos": dict(enumerate(names)),
            "stoi": {name: number for number, name in enumerate(names)},
        }
    )
)
