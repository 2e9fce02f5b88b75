"""Sources of counts: tables in memory, files and databases.

Files of any size are read part by part; databases count themselves.
"""
