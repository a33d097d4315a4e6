"""Maps of linen's modules: `nn.vmap` of a class of layers is a class of several side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..calls import run
from ..frame import Region
from ..values import (
    Bound,
    Class,
    Constant,
    External,
    Function,
    Mapping,
    Partial,
    Transformed,
    Value,
)
from .lanes import lane, lanes_together, mapped_arguments
from .registry import handles
from .staging import as_result, as_traced

if TYPE_CHECKING:
    from ..frame import Site
    from ..machine import Interpreter

_CALL = "verax.mapped_layer"
_OPTIONS = frozenset(
    "variable_axes split_rngs in_axes out_axes axis_size axis_name spmd_axis_name metadata_params "
    "methods".split()
)


@handles("flax.linen.vmap")
def _vmap(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """`nn.vmap(Layer, …)` derives from the layer, and is called as all of its lanes are."""
    if not args:
        return Partial(External(name), [], keywords)
    target = args[0]
    method = target.find("__call__") if isinstance(target, Class) else None
    if not isinstance(target, Class) or not isinstance(method, Function) or "methods" in keywords:
        return machine.opaque("call", site, (*args, *keywords.values()), type=name)
    made = Class(target.syntax, target.frame, [target])
    options = {key: it for key, it in keywords.items() if key in _OPTIONS}
    made.attributes["__call__"] = Partial(External(_CALL), [method], options)
    return made


@handles(_CALL)
def _called(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """One lane is followed with its share of the arguments, and of the parameters."""
    method, *rest = args
    if not isinstance(method, Function) or not rest:
        return machine.opaque("call", site, (*args, *keywords.values()))
    owner, *given = rest
    options = {key: it for key, it in keywords.items() if key in _OPTIONS}
    others = {key: it for key, it in keywords.items() if key not in _OPTIONS}
    layer = Bound(method, owner)
    mapped = Transformed("vmap", layer, options, site.syntax, site.frame, is_filtered=True)
    place = site.frame.place(site.syntax)
    region = Region("vmap", site.frame.region, place, transformed=mapped)
    entered, _ = mapped_arguments(site, mapped, given, {}, region)
    others = {key: lane(it, None, site, region) for key, it in others.items()}
    outer = machine.variables
    if outer is not None and not _is_shared(options.get("variable_axes")):
        machine.variables = (lane(outer[0], None, site, region), outer[1])
    result = run(machine, site.inside(region), method, [owner, *entered], others, region)
    machine.variables = outer
    return lanes_together(as_result(as_traced(result, True), site), region, site, mapped)


def _is_shared(axes: Value | None) -> bool:
    """Whether all lanes have the same parameters."""
    found = axes.items.get("params") if isinstance(axes, Mapping) else None
    return isinstance(found, Constant) and found.value is None
