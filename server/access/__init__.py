"""Who may come in: the door that every request passes, tokens, sessions."""
