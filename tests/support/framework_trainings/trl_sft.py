"""Supervised finetuning with TRL, whose trainers are Trainers of transformers."""

from __future__ import annotations

import sys

from datasets import Dataset
from tiny_model import model, sequences
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer

import holter.integrations.transformers

vocabulary = {f"t{number}": number for number in range(62)} | {"<pad>": 62, "<eos>": 63}
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=Tokenizer(models.WordLevel(vocabulary, unk_token="t0")),
    pad_token="<pad>",
    eos_token="<eos>",
)
rows = Dataset.from_list([{"input_ids": row["input_ids"].tolist()} for row in sequences(16)])
config = SFTConfig(
    output_dir=sys.argv[1],
    run_name="sft",
    report_to="holter",
    max_steps=4,
    logging_steps=1,
    per_device_train_batch_size=4,
    save_strategy="no",
    use_cpu=True,
    bf16=False,
    disable_tqdm=True,
)
assert holter.integrations.transformers.NAME == "holter"
trainer = SFTTrainer(model(), config, train_dataset=rows, processing_class=tokenizer)
trainer.train()
