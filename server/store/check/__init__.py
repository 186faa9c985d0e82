"""Whether every checksum and count of what is stored holds."""
