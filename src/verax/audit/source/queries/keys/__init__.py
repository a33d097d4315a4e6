"""Which random keys serve for what, and how often."""
