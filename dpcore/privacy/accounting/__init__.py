"""What is promised, what each touch costs, and how costs add up."""
