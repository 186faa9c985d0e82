"""The demo: replays recorded training runs with known events as if they happened now."""
