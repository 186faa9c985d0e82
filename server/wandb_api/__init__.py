"""The server side of the wandb client's protocol, so that unmodified clients log into Holter."""
