"""One module a page: a pure function from the store to what the page says."""
