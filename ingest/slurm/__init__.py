"""What SLURM and launchers say of a job: its environment, its state, who ended it and how."""
