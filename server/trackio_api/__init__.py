"""The server's interface of trackio, so that its unmodified clients log to Holter."""
