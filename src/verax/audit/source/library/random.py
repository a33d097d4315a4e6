"""`jax.random`: which functions make keys, and which consume them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..numbering import number_of
from ..shaping import array_function
from ..values import Constant, Data, Sequence, Value
from .registry import handles

if TYPE_CHECKING:
    from ..frame import Site
    from ..machine import Interpreter


@handles("jax.random.key", "jax.random.wrap_key_data")
def _make(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    key = machine.array(name, site, (*args, *keywords.values()))
    key.node.is_key = True
    key.node.dtype = "key"
    key.node.shape = ()
    seed = args[0] if args else keywords.get("seed")
    if isinstance(seed, Constant) and isinstance(seed.value, int):
        key.node.label = str(seed.value)
    return key


@handles("jax.random.clone")
def _clone(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """A key that gives the same numbers once more, on purpose: JAX counts it as a new one."""
    key = key_argument(args, keywords)
    clone = machine.array(name, site, () if key is None else (key,))
    clone.node.is_key = True
    clone.node.dtype = "key"
    clone.node.shape = key.node.shape if isinstance(key, Data) else None
    return clone


@handles("jax.random.key_data", "jax.random.key_impl")
def _same(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    return args[0] if args else machine.opaque(name, site, ())


def key_argument(args: list[Value], keywords: dict[str, Value]) -> Value | None:
    """The key among the arguments of a function of `jax.random`."""
    return args[0] if args else keywords.get("key")


@handles("jax.random.split")
def _split(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    key = key_argument(args, keywords)
    if key is None:
        return machine.opaque(name, site, ())
    machine.use_key(site, key, name)
    count = args[1] if len(args) > 1 else keywords.get("num", Constant(2))
    if not isinstance(key, Data):
        keys = machine.array(name, site, (key,))
    else:
        sizes = _sizes(count)
        identity = number_of(site.syntax) if sizes is None else sizes
        node = key.node.child("jax.random.split", identity, site.syntax, site.frame)
        node.operands = (key, count)
        keys = Data(node, True if site.frame.is_staged else key.traced, True)
    keys.node.is_key = True
    keys.node.dtype = "key"
    keys.node.shape = _sizes(count) or keys.node.shape
    return keys


def _sizes(count: Value) -> tuple[Any, ...] | None:
    """The shape of what a split gives: it is told a number, or a shape."""
    if isinstance(count, Constant):
        return count.value if isinstance(count.value, tuple) else (count.value,)
    several = count.items if isinstance(count, Sequence) else None
    sizes = [it.value for it in several or () if isinstance(it, Constant)]
    return tuple(sizes) if several and len(sizes) == len(several) else None


@handles("jax.random.fold_in")
def _fold_in(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    key = key_argument(args, keywords)
    data = args[1] if len(args) > 1 else keywords.get("data")
    if not isinstance(key, Data) or data is None:
        result = machine.array(name, site, (*args, *keywords.values()))
    else:
        key.node.is_key = True
        if isinstance(data, Constant):
            identity: object = ("constant", data.value)
        else:
            identity = ("node", data.node) if isinstance(data, Data) else number_of(site.syntax)
        node = key.node.child("jax.random.fold_in", identity, site.syntax, site.frame)
        if isinstance(data, Data):
            node.inputs = (key.node, data.node)
            node.varies = key.node.varies | data.node.varies
        result = Data(node, True if site.frame.is_staged else key.traced, True)
    result.node.is_key = True
    result.node.dtype = "key"
    result.node.shape = ()
    return result


@handles("jax.random.*")
def _draw(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    key = key_argument(args, keywords)
    if key is not None:
        machine.use_key(site, key, name)
    return array_function(machine, site, name, args, keywords)
