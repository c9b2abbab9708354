"""A stored run as a comparison: read from the store, shown in a terminal or as JSON."""
