"""Text that people type, turned into questions, workloads and tasks; the command line and the pages both read here."""
