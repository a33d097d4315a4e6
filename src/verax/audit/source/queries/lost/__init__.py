"""Values and states that are computed, and then dropped, overwritten or taken for others."""
