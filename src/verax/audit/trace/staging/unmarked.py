"""Transformations that cannot be left as a region: JAX performs these alone, and the rest stays.

JAX's own `vmap` accepts some functions that cannot be called on one element: `lax.select` with
scalars to choose from, or collectives over the mapped axis that make a result the same everywhere.
Inside of what JAX performs nothing is a region, as nothing can transform one.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import jax

from .salvage import is_salvaging

T = TypeVar("T")

# Zero outside of an audit; inside, a number that no other audit has.
auditing: Any = jax.make_user_context(default_value=0)  # a private type of JAX
_notes: ContextVar[list[str]] = ContextVar("notes")


@contextmanager
def notes_taken() -> Generator[list[str]]:
    """Notes on the transformations that JAX performs inside, one for each."""
    token = _notes.set([])
    try:
        yield _notes.get()
    finally:
        _notes.reset(token)


def or_performed(kind: str, name: str, left: Callable[[], T], performed: Callable[[], Any]) -> T:
    """Leave a region, or else let JAX transform: an error of that is the program's own."""
    try:
        return left()
    except Exception as error:
        if is_salvaging():
            raise
        with auditing(0):
            result = performed()
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        note = f"`{kind}` of `{name}` could not be marked while tracing and is not shown: {reason}"
        if note not in (notes := _notes.get([])):
            notes.append(note)
        return result
