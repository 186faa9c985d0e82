"""What trainers keep of a run as JSON: the Trainer's states, LLaMA-Factory's log, torchtitan's spans."""
