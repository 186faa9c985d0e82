"""The agent: follows files or standard input on this machine and sends what it reads to a server."""
