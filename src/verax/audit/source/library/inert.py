"""What hands on the array that it is given: for the compiler, for errors, or for nothing at all.

A value that went through one of these is the value that it was, so that nobody who asks the graph
where something comes from has to know them.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..operations import CASTS
from ..values import Data, Value, leaves
from .registry import handles

if TYPE_CHECKING:
    from ..frame import Site
    from ..machine import Interpreter

_MAKE_ARRAYS = frozenset(("jax.numpy.asarray", "jax.numpy.copy"))
# `jnp.float32(x)` is an array too.
TYPE_OF = {
    f"jax.numpy.{name}": name.rstrip("_")
    for name in "bool_ int8 int16 int32 uint8 uint16 uint32 bfloat16 float16 float32".split()
}
_GIVE_SHAPE = frozenset(
    "ndarray.reshape jax.numpy.reshape jax.lax.reshape jax.numpy.broadcast_to".split()
)


@handles("jax.device_put", "jax.lax.with_sharding_constraint", "jax.lax.optimization_barrier")
@handles("jax.checkpoint_name", "jax.lax.pvary", "jax.lax.pcast", "jax.block_until_ready")
@handles("equinox.error_if", "equinox.branched_error_if", "equinox.filter_shard")
def _handed_on(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """Arrays or trees of them, with a place, a name or a condition that says nothing of values."""
    given = next(iter((*args, *keywords.values())), None)
    data = leaves(given) if given is not None else []
    # Numbers of Python's become arrays, and arrays of NumPy's tracers.
    is_host = site.frame.is_staged and any(it.traced is False for it in data)
    if given is None or not data or is_host:
        return machine.array(name, site, args)
    return given


def as_array(site: Site, name: str, args: list[Value], keywords: dict[str, Value]) -> Data | None:
    """What `jnp.asarray(x)` gives if it gives `x`: an array, as it was.

    Outside of traced code a copy has memory of its own, which matters to who gives the first away.
    """
    given = args[0] if len(args) == 1 and not keywords else None
    if name not in _MAKE_ARRAYS or not isinstance(given, Data):
        return None
    if given.traced:
        return given
    # A number of Python's is made an array, as a list is, which what is not known may be.
    is_array = given.is_array and bool(given.node.operands or given.node.shape)
    is_kept = is_array and not site.frame.is_staged and not _is_copy(site)
    return given if is_kept else None


def _is_copy(site: Site) -> bool:
    function = getattr(site.syntax, "func", None)
    called = getattr(function, "attr", "") or getattr(function, "id", "")
    return isinstance(site.syntax, ast.Call) and called in ("array", "copy")


def is_unchanged(name: str, given: Value, result: Data, to: list[Value]) -> bool:
    """Whether an array has the type or the shape already that a function gives it."""
    if not isinstance(given, Data):
        return False
    asked = to[0] if len(to) == 1 else None
    before, after = given.node, result.node
    if name in CASTS:
        # The type of a number of Python's is weak, and that of an array made from it is not.
        is_same = before.dtype is not None and before.dtype == after.dtype
        is_weak = (before.dtype or "").endswith("*")
        return _is_own(asked, "dtype", given) or (is_same and not is_weak)
    # Sizes that are written, though the array has them, say what its axes are.
    return name in _GIVE_SHAPE and _is_own(asked, "shape", given)


def _is_own(asked: Value | None, what: str, given: Data) -> bool:
    """Whether one asks for the shape or the type of the array itself."""
    if not isinstance(asked, Data):
        return False
    node = asked.node
    return node.operation == "static" and node.label == what and node.inputs[:1] == (given.node,)
