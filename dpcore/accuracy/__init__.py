"""What may be said of a release's accuracy and of its promise without the real table."""
