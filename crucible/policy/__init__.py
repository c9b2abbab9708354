"""Rules on tool calls, and the paths they protect."""
