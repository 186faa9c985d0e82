"""Runs that the wandb client keeps on disk: its transaction log, framed as LevelDB frames its own."""
