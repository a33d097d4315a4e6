"""Loops and maps: what bodies get and hand on, and what differs in each turn or lane."""
