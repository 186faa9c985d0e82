"""Following logs live: what is new in any of them goes to a sink, exactly once."""
