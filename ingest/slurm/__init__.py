"""SLURM's tools and log lines of launchers: the environment and state of jobs, and how they ended."""
