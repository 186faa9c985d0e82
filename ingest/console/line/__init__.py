"""What a single line states: its numbers with their names, what they count, and the data they are of."""
