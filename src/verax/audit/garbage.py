"""When to look for garbage: what an audit makes lives until its end."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

# New objects until the next look, which goes through all of them: more than 40,000 lines of source
# make. One look at half a million took a twentieth of the time in which so many are made.
_OBJECTS = 2_000_000


@contextmanager
def few_collections() -> Generator[None]:
    """Hardly look for garbage inside."""
    before = gc.get_threshold()
    gc.set_threshold(_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def last_collections() -> Generator[None]:
    """Hardly look for garbage inside, and not at all at the end, which is the end of the process.

    Python would go through everything once more then, only to free what ends with the process.
    """
    with few_collections():
        try:
            yield
        finally:
            gc.freeze()
