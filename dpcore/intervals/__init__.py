"""What may be said about answers of a release: intervals from public numbers alone, never from a record."""
