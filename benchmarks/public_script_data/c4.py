"""A tokenizer and a text in the places where torchtitan's debug model expects those of its repository."""

from __future__ import annotations

import json
import random
from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer

choose = random.Random(0)
words = ("the", "loss", "of", "a", "model", "falls", "while", "it", "learns", "and", "rises", "with", "data")
texts = [" ".join(choose.choices(words, k=200)) for _ in range(2000)]
assets = Path("tests/assets")
(assets / "tokenizer").mkdir(parents=True)
(assets / "c4_test").mkdir()
(assets / "c4_test" / "data.json").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
tokenizer = Tokenizer(BPE())
tokenizer.pre_tokenizer = ByteLevel()
tokenizer.train_from_iterator(texts, BpeTrainer(vocab_size=300, special_tokens=["<begin>", "<end>"]))
tokenizer.save(str(assets / "tokenizer" / "tokenizer.json"))
(assets / "tokenizer" / "tokenizer_config.json").write_text(
    json.dumps({"bos_token": "<begin>", "eos_token": "<end>"})
)
