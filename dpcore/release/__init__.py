"""One real release: its request, its preparation, the draw, and the files that leave."""
