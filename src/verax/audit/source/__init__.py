"""The source engine: reads a program without importing it, and without importing JAX."""
