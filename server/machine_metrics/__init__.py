"""Metrics of machines that collectors send: OTLP/HTTP and Prometheus remote write, stored beside the runs."""
