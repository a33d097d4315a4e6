"""Axes, random keys and the rest: what the auditor looks for, one rule a file."""
