"""Sources of counts: tables in memory, files of any size read part by part, databases that count themselves."""
