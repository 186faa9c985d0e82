"""Tailing: new records of logs that are being written go to a sink, exactly once."""
