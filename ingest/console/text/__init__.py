"""The text around messages: what stands before lines, where they end, and numbers as they are printed."""
