"""Put functions in the place of others, wherever a loaded module holds them by name.

`from jax import vmap` gives a module a name of its own for JAX's function, so that replacing it in
JAX alone would not be seen there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any


@contextmanager
def replaced_everywhere(replacements: Mapping[int, Callable[..., Any]]) -> Generator[None]:
    """Replace functions by others inside; the keys are what `id` says of the originals.

    Modules that are imported inside may take a replacement for the original. They are given the
    original at the end like all others.
    """
    originals: dict[int, Any] = {}
    for space, name, value in list(_held(replacements)):
        originals[id(replacements[id(value)])] = value
        space[name] = replacements[id(value)]
    try:
        yield
    finally:
        for space, name, value in list(_held(originals)):
            space[name] = originals[id(value)]


def _held(ids: Mapping[int, Any]) -> Generator[tuple[dict[str, Any], str, Any]]:
    """Where modules hold these objects: the module's names, the name, and the object."""
    for module in list(sys.modules.values()):
        # What we keep for ourselves has to stay the original.
        if module is sys.modules["verax._jax"]:
            continue
        space = getattr(module, "__dict__", None)
        if isinstance(space, dict):
            for name, value in list(space.items()):
                if id(value) in ids:
                    yield space, name, value
