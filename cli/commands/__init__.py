"""One file a command of the `holter` command line."""
