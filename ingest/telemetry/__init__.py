"""Formats of machine telemetry: GPU counters, Prometheus exporters, kernel logs. Their rows have no steps."""
