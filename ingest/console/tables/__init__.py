"""What the columns of printed tables state of their rows."""
