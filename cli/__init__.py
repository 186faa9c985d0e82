"""The command line: commands, and the code that only they use (agent, demo, reports, notebook functions)."""
