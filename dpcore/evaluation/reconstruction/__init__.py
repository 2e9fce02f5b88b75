"""What tables reveal that are published without noise: rounded, suppressed, swapped or coarser."""
