"""Readers of typed text as questions, workloads and tasks, for the command line and the pages alike."""
