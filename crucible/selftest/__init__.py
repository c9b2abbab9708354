"""Crucible tried with tricks: small scripted agents that would be called green, learn or harm, run for real."""
