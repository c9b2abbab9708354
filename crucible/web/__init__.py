"""Pages over the store: what the command line says, for people who decide by looking.

A page is one function from the store to its data, and one template that draws it; the same data is its JSON.
"""
