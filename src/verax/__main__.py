"""`python -m verax` is `verax`."""

from verax.cli import run

if __name__ == "__main__":
    run()
