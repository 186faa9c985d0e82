"""Runs on the disk of the wandb client: its transaction log, which has LevelDB's framing."""
