"""Points that arrive over HTTP: their forms, and how they become deliveries."""
