"""Points over HTTP: body formats, validation, and delivery to the store."""
