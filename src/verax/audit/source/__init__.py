"""The source engine: what can be seen in a program without running it, or importing JAX."""
