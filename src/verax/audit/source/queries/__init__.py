"""Questions about a program that several rules ask."""
