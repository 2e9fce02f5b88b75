"""Test an algorithm's promise on public tables: distinguishing game and exact transcripts."""
