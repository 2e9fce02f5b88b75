"""Tables as they come, and what is public about them: columns, their values, whose rows they are."""
