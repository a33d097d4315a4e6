"""Loops of linen's modules: `nn.scan` of a class of layers, or of a method."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from ..graph import Node
from ..shapes import Mismatch
from ..shapes.axes import moveaxis
from ..values import (
    Bound,
    Class,
    Constant,
    Data,
    External,
    Function,
    Instance,
    Partial,
    Value,
    mapped,
)
from .linen import set_up
from .loops import scanned
from .registry import handles

if TYPE_CHECKING:
    from ..frame import Site
    from ..machine import Interpreter

_MOVE = "jax.numpy.moveaxis"
_METHOD, _CLASS, _LAYER = "verax.scanned_method", "verax.scanned_class", "verax.scanned_layer"


@handles("flax.linen.scan")
def _scan(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """`nn.scan(Cell, …)` is a class, and `nn.scan(method, …)` a method."""
    if not args:
        return Partial(External(name), [], keywords)
    target = args[0]
    if any(_axis(keywords, it) is None for it in ("in_axes", "out_axes")):
        # What is not sliced, or along several axes, would have other shapes.
        return machine.opaque("call", site, (*args, *keywords.values()), type=name)
    if isinstance(target, Function):
        return Partial(External(_METHOD), [target], keywords)
    if isinstance(target, (Class, External)):
        return Partial(External(_CLASS), [target], keywords)
    return machine.opaque("call", site, (*args, *keywords.values()), type=name)


_OPTIONS = frozenset(
    "variable_axes variable_broadcast variable_carry split_rngs in_axes out_axes length reverse "
    "unroll data_transform metadata_params methods".split()
)


@handles(_CLASS)
def _made(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    options = {key: it for key, it in keywords.items() if key in _OPTIONS}
    rest = {key: it for key, it in keywords.items() if key not in _OPTIONS}
    layer = machine.call(site, args[0], args[1:], rest)
    return Partial(External(_LAYER), [layer], options)


@handles(_METHOD)
def _method(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    if len(args) < 3:
        return machine.opaque("call", site, (*args, *keywords.values()))
    return _over(machine, site, Bound(args[0], args[1]), args[2:], keywords)


@handles(_LAYER)
def _layer(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    if len(args) < 2:
        return machine.opaque("call", site, (*args, *keywords.values()))
    layer, body = args[0], args[0]
    method = layer.cls.find("__call__") if isinstance(layer, Instance) else None
    if isinstance(layer, Instance) and method is not None:
        body = Bound(method, set_up(machine, site, layer))
    return _over(machine, site, body, args[1:], keywords)


def _over(
    machine: Interpreter, site: Site, body: Value, args: list[Value], options: dict[str, Value]
) -> Value:
    """The loop over all arguments but the first, which is the carry."""
    given = [_moved(it, _axis(options, "in_axes") or 0, 0, site) for it in args[1:]]
    xs = given[0] if len(given) == 1 else machine.tuple_of(*given) if given else None
    pair = scanned(
        machine, site, body, args[0], xs, options, options.get("length"), is_spread=len(given) > 1
    )
    carry, outputs = pair.items  # type: ignore[attr-defined]
    return machine.tuple_of(carry, _moved(outputs, 0, _axis(options, "out_axes") or 0, site))


def _axis(options: dict[str, Value], name: str) -> int | None:
    """The one axis along which all is sliced or stacked."""
    axis = options.get(name, Constant(0))
    is_one = isinstance(axis, Constant) and type(axis.value) is int
    return axis.value if is_one else None  # type: ignore[attr-defined]


def _moved(value: Value, source: int, target: int, site: Site) -> Value:
    """Data with the axis of a loop put where the loop, or its caller, has it."""

    def change(leaf: Data) -> Data:
        node = Node(_MOVE, (leaf.node,), site.syntax, site.frame, leaf.node.varies)
        node.operands = (leaf, Constant(source), Constant(target))
        node.dtype, node.is_key, node.label = leaf.node.dtype, leaf.node.is_key, leaf.node.label
        with suppress(Mismatch):
            node.shape = moveaxis(leaf.node.shape, source, target)
        return Data(node, leaf.traced, leaf.is_array)

    return value if source == target else mapped(value, change)
