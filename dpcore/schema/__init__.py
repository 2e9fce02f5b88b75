"""What is public about a table: its columns, their values, impossible combinations; and one cell's text read by it."""
