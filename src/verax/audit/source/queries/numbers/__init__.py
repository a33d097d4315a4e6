"""What numbers mean, along which axes, and where they leave their range."""
