"""`python -m verax` is `verax`."""

import sys

from verax.cli import main

if __name__ == "__main__":
    sys.exit(main())
