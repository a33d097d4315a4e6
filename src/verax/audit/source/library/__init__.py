"""What the interpreter knows of Python's own functions, of JAX, and of what is built on it."""
