"""Loops of linen's modules: `nn.scan` of a class of layers, or of a method."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..values import Bound, Class, Constant, External, Function, Instance, Partial, Value
from .linen import set_up
from .loops import scanned
from .registry import handles

if TYPE_CHECKING:
    from ..frame import Site
    from ..machine import Interpreter

_METHOD, _CLASS, _LAYER = "verax.scanned_method", "verax.scanned_class", "verax.scanned_layer"


@handles("flax.linen.scan")
def _scan(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """`nn.scan(Cell, …)` is a class, and `nn.scan(method, …)` a method."""
    if not args:
        return Partial(External(name), [], keywords)
    target = args[0]
    axes = keywords.get("in_axes", Constant(0))
    if not (isinstance(axes, Constant) and axes.value == 0):
        # Slices along other axes have other shapes.
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
    xs = args[1] if len(args) == 2 else machine.tuple_of(*args[1:]) if len(args) > 2 else None
    return scanned(
        machine, site, body, args[0], xs, options, options.get("length"), is_spread=len(args) > 2
    )
