"""Layers of networks, as far as they say what shape they give."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..shapes import Partial, Shape
from ..values import Data, Value
from .linen import own_parameters

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


def _size(layer: Data) -> int | None:
    """The size that is written where a layer is made."""
    position, name = _DENSE[layer.type]
    call = layer.node.syntax
    if not isinstance(call, ast.Call):
        return None
    given = next((it.value for it in call.keywords if it.arg == name), None)
    if given is None and position < len(call.args):
        given = call.args[position]
    value = given.value if isinstance(given, ast.Constant) else None
    return value if type(value) is int else None


def _mapped(shape: Shape, size: int | None) -> Shape:
    if isinstance(shape, tuple) and shape:
        return (*shape[:-1], size)
    return Partial((), (size,)) if size is not None else None
