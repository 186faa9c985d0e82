"""What the columns of printed tables say of their rows."""
