"""Other names for verax: modules to import for the effect they have."""
