"""Programs that repeat what a page shows: a command line, a Python script and a notebook."""
