"""How a column's dates and numbers are written, as its schema states it."""
