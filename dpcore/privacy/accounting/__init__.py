"""The promise, the cost of each touch, and the sum of costs."""
