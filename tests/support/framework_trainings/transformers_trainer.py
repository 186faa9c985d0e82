"""A Trainer of transformers with `report_to="holter"`: two epochs, evaluations, checkpoints."""

from __future__ import annotations

import sys
import time

from tiny_model import model, sequences
from transformers import Trainer, TrainerCallback, TrainingArguments

STEPS = int(sys.argv[2]) if len(sys.argv) > 2 else 12


class Slow(TrainerCallback):
    """Leaves time for a request of a person."""

    def on_step_end(self, args, state, control, **_):
        time.sleep(0.02 if STEPS > 100 else 0.0)


arguments = TrainingArguments(
    output_dir=sys.argv[1],
    run_name="trainer",
    report_to="holter",
    max_steps=STEPS,
    per_device_train_batch_size=4,
    logging_steps=2,
    eval_strategy="steps",
    eval_steps=6,
    save_strategy="steps",
    save_steps=6,
    hub_token="hf_abcdefghijklmnopqrstuvwx",
    use_cpu=True,
    disable_tqdm=True,
)
trainer = Trainer(
    model(), arguments, train_dataset=sequences(64), eval_dataset=sequences(8), callbacks=[Slow()]
)
trainer.train()
sys.stdout.write(f"steps {trainer.state.global_step}\n")
