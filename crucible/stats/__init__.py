"""Pure functions on numbers: intervals, tests, power. Imports nothing of ours."""
