"""What the book claims, each with an oracle, and attempts to refute it."""
