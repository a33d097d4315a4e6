"""What a side channel is: its name, how its payloads combine, and how to emit one.

A payload is emitted only while a collector is tracing. JAX keys its trace and compilation
caches on `jax.make_user_context`, so a function that was traced bare is traced again for the
collector, and the bare program holds no trace of the channel at all.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Generator, Hashable
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

Payload = Any

_recorded = jax.make_user_context(default_value=frozenset())


class Visit(NamedTuple):
    """A payload on its way out, and the loop iterations (outermost first) it comes from."""

    payload: Payload
    path: Any


def zeros(shapes: Payload) -> Payload:
    """A payload of zeros: what `Stack` puts where nothing was emitted."""
    return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)


@dataclass(frozen=True)
class Stack:
    """Keep the payloads of all iterations of a loop, along a new leading axis.

    `neutral` makes the payload of a branch that was not taken, from the shapes of its leaves.
    A loop whose number of iterations is not known before it runs cannot be stacked.
    """

    neutral: Callable[[Payload], Payload] = zeros


@dataclass(frozen=True)
class Fold:
    """Combine the payloads of all iterations of a loop into one.

    `combine(earlier, later)` merges two visits. `neutral` makes the payload that stands for
    "nothing was emitted", from the shapes of its leaves: combining with it changes nothing.
    """

    combine: Callable[[Visit, Visit], Visit]
    neutral: Callable[[Payload], Payload]


@dataclass(frozen=True, eq=False)
class Channel:
    """A way out of compiled code for values that are not part of the result.

    Example:
        >>> import jax
        >>> from verax.channel import Channel, collect, emit
        >>> norms = Channel("norms")
        >>> def layer(x):
        ...     emit(norms, jax.numpy.vdot(x, x), static="before tanh")
        ...     return jax.numpy.tanh(x)
        >>> value, emissions = collect(layer, norms)(jax.numpy.ones(3))
        >>> emissions[0].static, float(emissions[0].payload)
        ('before tanh', 3.0)
    """

    name: str
    loops: Stack | Fold = field(default_factory=Stack)

    def __repr__(self) -> str:
        return f"Channel({self.name!r})"


@dataclass(frozen=True, eq=False)
class Query:
    """A question that the program asks about what it has emitted so far.

    `initial` is the answer before anything was emitted (and in a bare run);
    `update(answer, payload)` takes one more payload into account.
    """

    channel: Channel
    initial: Any
    update: Callable[[Any, Payload], Any]


@dataclass(frozen=True)
class Site:
    """A place in the user's source."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}"


@dataclass(frozen=True)
class Label:
    """All that is static about an emission."""

    channel: Channel
    treedef: Any
    static: Hashable
    site: Site
    key_impls: tuple[Any, ...]
    batches: Any = None  # Set by `_batched_map`.

    def says_the_same_as(self, other: Label) -> bool:
        """Whether two emissions come from the same code, traced twice."""
        return (
            self.channel is other.channel
            and self.treedef == other.treedef
            and self.site == other.site
            and _alike(self.static, other.static)
        )


def _alike(one: Any, other: Any) -> bool:
    """Whether static data says the same. Functions do if they come from the same source."""
    if type(one) is not type(other):
        return False
    if dataclasses.is_dataclass(one) and not isinstance(one, type):
        names = [field.name for field in dataclasses.fields(one)]
        return all(_alike(getattr(one, name), getattr(other, name)) for name in names)
    if isinstance(one, FunctionType):
        return one.__code__ is other.__code__
    return one == other


@contextmanager
def recording(*channels: Channel) -> Generator[None]:
    """Let `emit` leave an equation in whatever is traced inside.

    `collect` does this by itself; use it to make a jaxpr that is to be collected later.
    """
    with _recorded(_recorded.value | frozenset(channels)):
        yield


def is_recording(channel: Channel) -> bool:
    """Whether a collector of this channel is tracing."""
    return channel in _recorded.value


def emit(channel: Channel, payload: Payload, *, static: Hashable = None) -> None:
    """Send a payload (any pytree of arrays) into a channel, with hashable static data.

    Does nothing unless the surrounding computation is being collected.
    """
    if not is_recording(channel):
        return
    # Bound late: the primitives need to know what is defined here.
    from ._primitives import bind_emission

    try:
        hash(static)
    except TypeError as error:
        raise TypeError(
            f"static data of an emission into {channel} must be hashable, since it becomes part "
            f"of the traced program: {error}. Use tuples instead of lists, or put arrays into "
            "the payload."
        ) from None
    bind_emission(channel, payload, static, caller())


def ask(query: Query) -> jax.Array:
    """The answer to a query at this point of the program, as a traced value."""
    if not is_recording(query.channel):
        return jnp.asarray(query.initial)
    from ._primitives import bind_question

    return bind_question(query)


def caller() -> Site:
    """The nearest frame that is not part of verax."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
    code = frame.f_code
    return Site(code.co_filename, frame.f_lineno, code.co_qualname)


def _is_ours(module: str) -> bool:
    return module == "verax" or module.startswith("verax.")
