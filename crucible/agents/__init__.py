"""Who attempts a task: the built-in loop, driven by a real or a scripted model."""
