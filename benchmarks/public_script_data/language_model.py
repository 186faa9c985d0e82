"""A text, a tokenizer and a metric `accuracy` for run_clm.py, which would be downloaded otherwise."""

from __future__ import annotations

import random
from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer
from transformers import PreTrainedTokenizerFast

METRIC = """
import datasets
import evaluate


class Accuracy(evaluate.Metric):
    def _info(self):
        value = datasets.Value("int32")
        features = datasets.Features({"predictions": value, "references": value})
        return evaluate.MetricInfo(description="", citation="", inputs_description="", features=features)

    def _compute(self, predictions, references):
        pairs = list(zip(predictions, references, strict=True))
        return {"accuracy": sum(int(a == b) for a, b in pairs) / len(pairs)}
"""
choose = random.Random(0)
words = ("the", "loss", "of", "a", "model", "falls", "while", "it", "learns", "and", "rises", "with", "data")
lines = [" ".join(choose.choices(words, k=12)) for _ in range(2000)]
Path("text.txt").write_text("\n".join(lines) + "\n")
tokenizer = Tokenizer(BPE())
tokenizer.pre_tokenizer = ByteLevel()
tokenizer.train(["text.txt"], BpeTrainer(vocab_size=300, special_tokens=["<end>"]))
PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>").save_pretrained("tokenizer")
Path("accuracy").mkdir()
Path("accuracy/accuracy.py").write_text(METRIC)
