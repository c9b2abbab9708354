"""The words and events of an attempt."""
