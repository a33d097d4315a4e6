"""Layers of networks, as far as they say what shape they give."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..events import Call
from ..shapes import Dim, Partial, Shape, Size
from ..values import Constant, Data, Value
from .linen import own_parameters
from .registry import handles_method

if TYPE_CHECKING:
    from ..frame import Site
    from ..machine import Interpreter

# Layers that map the last axis, with the position and name of the new size.
_DENSE = {
    "flax.linen.Dense": (0, "features"),
    "flax.nnx.Linear": (1, "out_features"),
    "equinox.nn.Linear": (1, "out_features"),
    "haiku.Linear": (0, "output_size"),
}


def applied(
    machine: Interpreter, site: Site, layer: Data, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """What calling something gives that was made outside of the project."""
    operands = (layer, *args, *keywords.values(), *own_parameters(machine, site, layer))
    if layer.type not in _DENSE or not args:
        return machine.opaque("call", site, operands)
    result = machine.array(layer.type, site, operands)
    given = args[0]
    if isinstance(given, Data):
        result.node.shape = _mapped(given.node.shape, _size(layer))
    return result


@handles_method("apply", of="flax.linen.Dense")
def _apply(
    machine: Interpreter, site: Site, layer: Data, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """`layer.apply(variables, x)`, of a layer that is no part of a module."""
    if len(args) != 2 or keywords:
        result = machine.opaque(".apply", site, (layer, *args, *keywords.values()))
    else:
        result = machine.array(layer.type, site, (layer, *args))
        given = args[1]
        if isinstance(given, Data):
            result.node.shape = _mapped(given.node.shape, _size(layer))
    name = f"{layer.type}.apply"
    machine.note(Call(site.syntax, site.frame, name, [layer, *args], keywords, result))
    return result


def keep_size(layer: Data, args: list[Value], keywords: dict[str, Value]) -> None:
    """Note the size that a layer is made with, where it is one."""
    if layer.type in _DENSE:
        position, name = _DENSE[layer.type]
        size = keywords.get(name, args[position] if position < len(args) else None)
        layer.node.operands = () if size is None else (size,)


def _size(layer: Data) -> Dim:
    """The size that a layer is made with."""
    size = layer.node.operands[0] if layer.node.operands else None
    value = size.value if isinstance(size, Constant) else None
    return value if type(value) in (int, Size) else None


def _mapped(shape: Shape, size: Dim) -> Shape:
    if isinstance(shape, tuple) and shape:
        return (*shape[:-1], size)
    if isinstance(shape, Partial) and shape.trail:
        return Partial(shape.lead, (*shape.trail[:-1], size))
    return Partial((), (size,)) if size is not None else None
