"""Ways from a program to what the analyses read."""
