"""Lines of any program: the dialect-independent parser, line by line and in columns."""
