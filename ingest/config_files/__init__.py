"""Config files of launches: JSON, YAML and TOML that training programs write next to their logs."""
