"""The commands, one file each: its docstring is its help."""
