"""Pure functions on numbers: intervals, tests, power, stopping early, the confirmation floor. Imports nothing of ours.

One module per question. In all of them rates, probabilities and levels are fractions of 1 (0.95, never 95); a difference
is always *A minus B*; `level` is the two-sided confidence level; a p-value is two-sided unless its name or argument says
otherwise. Two-sided means twice the smaller one-sided p-value, at most 1, so that a direction may be named when it is
small; a function that keeps another convention for the sake of comparison says so. Arguments outside their range, NaN
included, raise ValueError. What the data cannot answer (a spread from one value) is None beside a reason, never NaN and
never an interval of no width.

numpy and scipy are imported inside the functions that use them: importing this package costs nothing.
"""
