"""Rollouts of environments: what belongs to which step, and what starts anew at an end."""
