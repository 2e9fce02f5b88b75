"""Changes that a person makes to one column's entry of a schema. No row is read here."""
