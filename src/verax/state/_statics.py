"""Static fields: what a dataclass adds to the structure of a tree, and the check that it can.

JAX hashes static values when it looks up a compiled program. A value that cannot be hashed is
reported here, where class and field still have names.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from jax.core import Tracer


def is_static(one: dataclasses.Field[Any]) -> bool:
    """Whether a field belongs to the structure of the tree."""
    return bool(one.metadata.get("static", False))


def static_names(cls: type) -> tuple[str, ...]:
    """The names of the static fields of a dataclass."""
    return tuple(one.name for one in dataclasses.fields(cls) if is_static(one))


def check_statics(instance: Any, names: tuple[str, ...]) -> None:
    """Refuse an instance whose static fields JAX could not hash."""
    for name in names:
        value = getattr(instance, name, None)
        try:
            hash(value)
        except TypeError:
            raise TypeError(_unhashable(type(instance), name, value)) from None


def _unhashable(cls: type, name: str, value: Any) -> str:
    place = f"{cls.__qualname__}.{name} is a static field"
    if isinstance(value, Tracer):
        return (
            f"{place}, but was given a value that only exists while the program runs: {value}. "
            f"Compute it from shapes or Python values, or remove static=True from {name!r}."
        )
    return (
        f"{place}, so JAX must be able to hash it, but it was given a {type(value).__name__}: "
        f"{value!r}. Give it a hashable value, such as a tuple or a frozen dataclass, "
        f"or remove static=True from {name!r} so that it counts as data."
    )
