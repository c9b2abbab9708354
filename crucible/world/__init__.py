"""The workspace of an attempt: reset, sandbox, tools, and the change that came out."""
