"""Frozen failures at work: run an agent on one, see it fail (`repro`), and count greens until "fixed" (`confirm`)."""
