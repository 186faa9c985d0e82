"""The agent: follows files here and sends what it reads to a server elsewhere."""
