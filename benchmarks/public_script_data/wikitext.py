"""Random words where Lightning's example expects WikiText-2: 4,200 samples, most for its evaluation."""

from __future__ import annotations

import random
from pathlib import Path

choose = random.Random(0)
words = [f"word{number}" for number in range(40)]
Path("data").mkdir()
lines = (" ".join(choose.choices(words, k=34)) for _ in range(4201))
Path("data/wikitext-2.txt").write_text("\n".join(lines) + "\n")
