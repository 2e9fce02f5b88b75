"""Points and distances: regions, transport between weighted points, samples of points."""
