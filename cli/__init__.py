"""The command line: one module a command, and what only commands use (agent, demo, report, notebook)."""
