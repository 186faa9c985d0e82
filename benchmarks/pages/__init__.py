"""What the pages cost in a real browser, beside what they may cost."""
