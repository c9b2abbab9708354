"""`python -m crucible` is the same as `crucible`."""

from crucible.cli import main

main()
