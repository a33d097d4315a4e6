"""`python -m verax` is `verax`."""

import sys

# Python looks for modules in the working directory first, where a program may have an `ast.py` of
# its own. What is audited is imported by a process that looks there; this one has no use for it.
if not sys.flags.safe_path and sys.path:
    del sys.path[0]

from verax.cli import run

if __name__ == "__main__":
    run()
