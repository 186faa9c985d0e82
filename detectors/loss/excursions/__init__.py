"""Where a series leaves its own recent level upwards, and whether it comes back: one causal pass over it."""
