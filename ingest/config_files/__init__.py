"""Settings files beside logs: how a launch is set up, as JSON, YAML or TOML that programs write down."""
