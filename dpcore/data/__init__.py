"""Raw tables and their public facts: columns, values, and whose rows they are."""
