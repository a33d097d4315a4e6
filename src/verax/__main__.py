"""`python -m verax` is `verax`."""

import sys

from verax.audit.garbage import last_collections
from verax.cli import main


def run() -> None:
    """Run a command as all that this process does."""
    with last_collections():
        code = main()
    sys.exit(code)


if __name__ == "__main__":
    run()
