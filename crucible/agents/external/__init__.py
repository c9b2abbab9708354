"""Whole agent CLIs as arms: run headless inside the sandbox, their model reached through a proxy of ours."""
