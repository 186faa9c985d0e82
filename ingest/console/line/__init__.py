"""What a single line says: its numbers with their names, what they count, and the data they are of."""
