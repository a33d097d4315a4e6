"""Where gradients flow, what stops them, and what losses are made of."""
