"""CSV logs, of any dialect, growing or written anew."""
