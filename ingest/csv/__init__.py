"""CSV logs of any delimiter, appended to or rewritten."""
