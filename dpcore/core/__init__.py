"""What every room uses: errors, types, numbers, parameters, where a value came from."""
