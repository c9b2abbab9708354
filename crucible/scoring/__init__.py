"""Scores from facts: tests, similarity to the reference, size and efficiency."""
