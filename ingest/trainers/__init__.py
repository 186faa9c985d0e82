"""JSON logs of trainers: the Trainer's states, LLaMA-Factory's log, torchtitan's spans."""
