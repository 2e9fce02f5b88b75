"""The closed set of statistics that may be asked of rows, each with its sensitivity derived."""
