"""Plan, attempts, grading, judging queue and resume: everything that happens during `crucible run`."""
