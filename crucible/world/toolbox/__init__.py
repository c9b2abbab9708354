"""The program that serves an attempt's tools from inside its world. Standard library only; imports nothing of ours.

It is started as `python3 -I -S` from a read-only place. Requests and results are frames on a private pipe;
descriptors travel over a channel beside it.
"""

READY = bytes(4)
"""What it says first: a frame of nothing."""
