"""Optimisers, what they are given, and what becomes of the parameters."""
