"""Tests of an algorithm's promise on public tables: the distinguishing game and exact transcripts."""
