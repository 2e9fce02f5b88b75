"""A tab's project as a file: saved from Share, opened by an upload, kept in the browser."""
