"""Sizes of buffers that grow when a computation needs more than they hold.

Compiled code has fixed sizes. A capacity knows the size of a buffer, asserts inside compiled
code that it suffices, and carries the repair: a lens to where the state keeps the size. A size
is a number, or any pytree of numbers that grow independently.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import replace
from typing import Any, Generic, Protocol, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from verax.state import Lens, dataclass, field, path_of

from .assertion import runtime_assert
from .growth import grown
from .laws import LARGEST

State = TypeVar("State")
Value = TypeVar("Value")
Value_co = TypeVar("Value_co", covariant=True)


class CapacityError(ValueError):
    """More was needed than a buffer holds."""


class Capacity(Protocol[Value_co]):
    """The size of a buffer, and the check that it suffices."""

    @property
    def size(self) -> Value_co:
        """The present size: a number, or a pytree of numbers."""
        ...

    def generate_assertion(self, required_capacity: Any) -> Capacity[Value_co]:
        """Assert that the size suffices; the capacity to go on with, larger if it could grow."""
        ...

    def multiply(self, factor: int) -> Capacity[Value_co]:
        """A capacity of `factor` times this size, which grows with this one."""
        ...


@dataclasses.dataclass(frozen=True)
class FixedCapacity(Generic[Value]):
    """A size that is final: needing more is an error.

    Attributes:
        size: A number, or a pytree of numbers.
        error_msg: What to say besides, such as what to do about it.
        name: What the size is of, to tell several capacities apart in messages.

    Example:
        >>> import jax.numpy as jnp
        >>> from verax import FixedCapacity, as_result_function
        >>> def fill(n):
        ...     FixedCapacity(8, "raise the number of slots").generate_assertion(n)
        ...     return n
        >>> print(as_result_function(fill)(jnp.array(9)).failed_assertions[0].exception_type)
        <class 'verax.runtime.capacity.CapacityError'>
    """

    size: Value
    error_msg: str = ""
    name: str | None = None

    def generate_assertion(self, required_capacity: Any) -> FixedCapacity[Value]:
        """Assert that the size suffices."""
        required = _required(self.size, required_capacity)
        runtime_assert(
            _fits(self.size, required),
            _message(self.name) + (f" {_literal(self.error_msg)}" if self.error_msg else ""),
            _values(self.size, required),
            exception_type=CapacityError,
        )
        return self

    def multiply(self, factor: int) -> FixedCapacity[Value]:
        """A capacity of `factor` times this size."""
        _check_factor(factor)
        return replace(self, size=_multiplied(self.size, factor))

    def __hash__(self) -> int:
        return hash(_static(self))


@dataclasses.dataclass(frozen=True)
class LensCapacity(Generic[State, Value]):
    """A size that a repair raises, through a lens to where the state keeps it.

    Grows to the smallest power of `base` that suffices, or to exactly what is needed if `base`
    is at most 1. Never shrinks.

    Attributes:
        size: The present size: a number, or a pytree of numbers.
        size_lens: Where the state keeps it.
        base: What sizes are powers of.
        name: What the size is of, in messages; by default the path of the lens.

    Example:
        >>> import jax.numpy as jnp
        >>> from verax import LensCapacity, as_result_function, lens
        >>> def simulate(state):
        ...     edges = LensCapacity(state["edges"], lens(lambda s: s["edges"]))
        ...     edges.generate_assertion(jnp.array(150))
        ...     return jnp.array(0)
        >>> result = as_result_function(simulate)({"edges": 100})
        >>> result.fix_or_raise({"edges": 100})
        {'edges': 256}
    """

    size: Value
    size_lens: Lens[State, Value]
    base: float = 2.0
    name: str | None = None

    def __post_init__(self) -> None:
        if not math.isfinite(self.base):
            raise ValueError(
                f"base is a finite number, of which sizes are powers, and is {self.base}. With a "
                "base of 1, a size grows to exactly what is needed."
            )

    def generate_assertion(self, required_capacity: Any) -> LensCapacity[State, Value]:
        """Assert that the size suffices, with a repair that raises it.

        Args:
            required_capacity: What is needed: whole numbers of any shape, of which the largest
                counts. For a pytree of sizes, the last axis has one entry for each of them.

        Returns:
            While tracing, this capacity: the size changes when the state is repaired. Outside,
            the capacity that suffices.
        """
        required = _required(self.size, required_capacity)
        name = self.name or path_of(self.size_lens)
        runtime_assert(
            _fits(self.size, required),
            _message(name),
            _values(self.size, required),
            exception_type=CapacityError,
            fix_fn=LensCapacityFix(self.size_lens, self.base, name),
            fix_args=required,
            fix_law=LARGEST,
        )
        if isinstance(required, Tracer):
            return self
        return replace(self, size=_raised(self.size, required, self.base, name))

    def multiply(self, factor: int) -> MultipliedCapacity[Value]:
        """A capacity of `factor` times this size, which grows with this one."""
        return MultipliedCapacity(self, factor)

    def __hash__(self) -> int:
        return hash(_static(self))


@dataclass
class LensCapacityFix(Generic[State, Value]):
    """The repair of a capacity: raises the size that a lens points at.

    Example:
        >>> import jax.numpy as jnp
        >>> from verax import lens
        >>> from verax.runtime.capacity import LensCapacityFix
        >>> LensCapacityFix(lens(lambda s: s["edges"]))({"edges": 100}, jnp.array([120, 90]))
        {'edges': 120}
    """

    lens: Lens[State, Value] = field(static=True)
    base: float = field(default=1.0, static=True)
    name: str | None = field(default=None, static=True)

    def __call__(self, state: State, target_capacity: Any) -> State:
        """The state with a size of at least `target_capacity`; never a smaller one than before."""
        size = self.lens.get(state)
        required = _required(size, target_capacity)
        name = self.name or path_of(self.lens)
        return self.lens.set(state, _raised(size, required, self.base, name))


@dataclass
class MultipliedCapacity(Generic[Value]):
    """A view of another capacity, `factor` times as large.

    Example:
        >>> from verax import LensCapacity, lens
        >>> LensCapacity(10, lens(lambda s: s.atoms)).multiply(3).size
        30
    """

    base_capacity: Capacity[Value]
    factor: int = field(static=True)

    def __post_init__(self) -> None:
        _check_factor(self.factor)

    @property
    def size(self) -> Value:
        """The present size."""
        return _multiplied(self.base_capacity.size, self.factor)

    def generate_assertion(self, required_capacity: Any) -> MultipliedCapacity[Value]:
        """Assert that the underlying capacity suffices for its share, rounded up."""
        required = _required(self.base_capacity.size, required_capacity)
        share = required // self.factor + (required % self.factor != 0).astype(required.dtype)
        # A count that has overflowed must not be rounded up to 0.
        share = jnp.where(required < 0, required, share)
        return replace(self, base_capacity=self.base_capacity.generate_assertion(share))

    def multiply(self, factor: int) -> MultipliedCapacity[Value]:
        """A capacity of `factor` times this size."""
        return MultipliedCapacity(self, factor)


# All of a capacity is part of the program, as if in static fields. Those refuse what cannot be
# hashed, such as a dict of sizes; so the sizes are taken out of it here.


def _static(capacity: Any) -> tuple[Any, ...]:
    sizes, structure = jax.tree.flatten(capacity.size)
    others = (getattr(capacity, one.name) for one in dataclasses.fields(capacity)[1:])
    return (structure, tuple(sizes), *others)


def _register(cls: type[Any]) -> None:
    def unflatten(static: tuple[Any, ...], _: Any) -> Any:
        structure, sizes, *others = static
        return cls(jax.tree.unflatten(structure, sizes), *others)

    jax.tree_util.register_pytree_node(cls, lambda it: ((), _static(it)), unflatten)


_register(FixedCapacity)
_register(LensCapacity)


def _message(name: str | None) -> str:
    return f"capacity{_literal(_of(name))} exceeded: {{required}} needed, {{size}} available."


def _of(name: str | None) -> str:
    return f" of {name}" if name else ""


def _literal(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _check_factor(factor: Any) -> None:
    if not isinstance(factor, (int, np.integer)) or factor < 1:
        raise ValueError(f"factor is a whole number of at least 1, and is {factor!r}")


def _multiplied(size: Value, factor: int) -> Value:
    return jax.tree.map(lambda one: one * factor, size)


def _sizes(size: Any) -> list[int]:
    sizes = jax.tree.leaves(size)
    if not sizes or not all(isinstance(s, (int, np.integer)) and s >= 0 for s in sizes):
        raise TypeError(
            "the size of a capacity is a whole number that is not negative, or a pytree of such "
            f"numbers, not {size!r}. It is static: keep it in a field(static=True)."
        )
    return [int(s) for s in sizes]


def _required(size: Any, required: Any) -> jax.Array:
    """The largest requirement for each size, as an array like the flattened sizes."""
    count, scalar = len(_sizes(size)), jax.tree.structure(size) == jax.tree.structure(0)
    array = jnp.asarray(required)
    if not jnp.issubdtype(array.dtype, jnp.integer):
        raise TypeError(
            f"required_capacity counts something and is made of integers, not of {array.dtype}"
        )
    if array.size == 0:  # nothing needs anything
        return jnp.zeros(() if scalar else count, array.dtype)
    if count == 1:  # whatever the axes mean, all of them are about this one size
        return array.max() if scalar else array.max().reshape(1)
    if array.ndim == 0 or array.shape[-1] != count:
        raise ValueError(
            f"the capacity has {count} sizes, so the last axis of required_capacity has {count} "
            f"entries, in the order of jax.tree.leaves; its shape is {array.shape}"
        )
    return array.max(axis=tuple(range(array.ndim - 1))) if array.ndim > 1 else array


def _fits(size: Any, required: jax.Array) -> jax.Array:
    # No requirement is larger than its own type allows, so larger sizes compare the same.
    most = jnp.iinfo(required.dtype).max
    limits = np.array([min(s, most) for s in _sizes(size)], required.dtype).reshape(required.shape)
    # A count that has overflowed its type has become negative.
    return ((required >= 0) & (required <= limits)).all()


def _values(size: Any, required: jax.Array) -> dict[str, Any]:
    text = str(size) if required.ndim else str(_sizes(size)[0])
    return {"required": required, "size": text}


def _raised(size: Value, required: Any, base: float, name: str | None) -> Value:
    """The sizes that suffice. On the host, where numbers do not overflow."""
    needed = [int(n) for n in np.asarray(required).reshape(-1)]
    sizes, treedef = jax.tree.flatten(size)
    if any(n < 0 for n in needed):
        raise CapacityError(
            f"capacity{_of(name)}: {min(needed)} needed, which is negative: the count has "
            f"overflowed its type, {np.asarray(required).dtype}. Count in a wider type."
        )
    new = [s if n <= s else grown(n, base) for s, n in zip(sizes, needed, strict=True)]
    return jax.tree.unflatten(treedef, new)
