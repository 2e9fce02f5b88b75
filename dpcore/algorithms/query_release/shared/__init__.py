"""What several algorithms of query release share: models, fits, selection, schedules."""
