"""Crucible: is agent set-up B better than A at this job, and how sure are we?"""

__version__ = "0.1.0"
