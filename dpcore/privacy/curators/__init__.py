"""Curators: the only holders of rows, which charge every use before it happens."""
