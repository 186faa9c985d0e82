"""The demo: real training runs replayed as if they happened now, and what is known about them."""
