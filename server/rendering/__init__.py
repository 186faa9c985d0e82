"""What incidents look like: curves drawn for messages."""
