"""How ranks reach each other, by what NCCL and RCCL print while they start: one concern a file."""
