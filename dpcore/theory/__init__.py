"""The papers' schedules and bounds as functions of public numbers, corrected; one file a subject."""
