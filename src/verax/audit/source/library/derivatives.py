"""Values at the boundary of a derivative, and where gradients end."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..frame import Region
from ..graph import NOWHERE, Node
from ..values import (
    Constant,
    Data,
    Sequence,
    Transformed,
    Value,
    leaves,
    mapped,
    nodes_of,
)
from .filters import divided
from .options import (
    argument_numbers,
)
from .registry import handles

if TYPE_CHECKING:
    from ..frame import Site
    from ..machine import Interpreter


def differentiated_arguments(
    site: Site, transformed: Transformed, args: list[Value], region: Region
) -> list[Value]:
    """The arguments as they are inside of a function that is differentiated."""
    if transformed.kind in ("vjp", "jvp", "linearize"):
        numbers: list[int] | None = list(range(len(args)))
    else:
        numbers = argument_numbers(transformed)
    entered = list(args)
    for number in numbers or ():
        if -len(args) <= number < len(args):
            entered[number] = mapped(args[number], lambda leaf: primal(leaf, site, region))
    return entered


def primal(leaf: Data, site: Site, region: Region) -> Data:
    """An argument inside of the function that is differentiated with respect to it."""
    node = leaf.node.child("primal", region, site.syntax, site.frame)
    node.shape, node.dtype = leaf.node.shape, leaf.node.dtype
    node.label, node.is_key = leaf.node.label, leaf.node.is_key
    return Data(node, leaf.traced, leaf.is_array, leaf.type)


def derivatives(
    machine: Interpreter,
    site: Site,
    transformed: Transformed,
    args: list[Value],
    result: Value,
) -> Value:
    """What a derivative gives: gradients, with the value or what else was asked for."""
    has_aux = transformed.options.get("has_aux")
    value, auxiliary = result, None
    if has_aux is not None and not (isinstance(has_aux, Constant) and has_aux.value is False):
        if isinstance(result, Sequence) and result.items is not None and len(result.items) == 2:
            value, auxiliary = result.items
        else:
            value = machine.opaque("value", site, (result,))
            auxiliary = machine.opaque("auxiliary", site, (result,))
    numbers = argument_numbers(transformed)
    single = transformed.options.get("argnums")
    is_single = single is None or isinstance(single, Constant)
    rule = _RULES.get(transformed.kind, _gradient)
    # One that is filtered differentiates by the arrays only, and gives `None` for the rest.
    wanted = [divided(it)[0] for it in args] if transformed.is_filtered else args
    gradients = [
        rule(site, wanted[number], value)
        for number in numbers or ()
        if -len(args) <= number < len(args)
    ]
    if numbers is None or not gradients:
        gradient: Value = machine.opaque("gradient", site, (value,))
    else:
        gradient = gradients[0] if is_single else Sequence("tuple", gradients)
    if transformed.kind == "value_and_grad":
        value = _scalar(site, value)
        first = value if auxiliary is None else machine.tuple_of(value, auxiliary)
        return machine.tuple_of(first, gradient)
    return gradient if auxiliary is None else machine.tuple_of(gradient, auxiliary)


def _scalar(site: Site, value: Value) -> Value:
    """The value that was differentiated: JAX takes nothing but an array for it."""
    if not isinstance(value, Data) or value.traced is not None or not site.frame.is_staged:
        return value
    return Data(value.node, True, True, value.type)


def _gradient(site: Site, argument: Value, value: Value) -> Value:
    """The gradient with respect to an argument: of its structure and shape."""
    sources = tuple(nodes_of(value))

    def change(leaf: Data) -> Data:
        inputs = (leaf.node, *sources)
        varies = frozenset().union(*(node.varies for node in inputs)) or NOWHERE
        node = Node("gradient", inputs, site.syntax, site.frame, varies)
        node.shape, node.dtype = leaf.node.shape, leaf.node.dtype
        traced = True if site.frame.is_staged else leaf.traced
        return Data(node, traced, leaf.is_array)

    if isinstance(argument, Constant) and argument.value is not None:
        return Data(Node("gradient", sources, site.syntax, site.frame), None, True)
    return mapped(argument, change)


def _jacobian(site: Site, argument: Value, value: Value, twice: bool = False) -> Value:
    """All derivatives: in place of each output, a tree like the argument."""

    def change(output: Data) -> Value:
        if not output.is_array:
            # It may be a tree, whose structure would come first.
            node = Node("gradient", (output.node, *nodes_of(argument)), site.syntax, site.frame)
            return Data(node, True if site.frame.is_staged else None)
        gradient = _gradient(site, argument, output)
        before = output.node.shape
        for leaf in leaves(gradient):
            after = leaf.node.shape
            is_known = isinstance(before, tuple) and isinstance(after, tuple) and not twice
            leaf.node.shape = (*before, *after) if is_known else None
        return gradient

    return mapped(value, change)


_RULES = {"jacfwd": _jacobian, "jacrev": _jacobian, "hessian": partial(_jacobian, twice=True)}


@handles("jax.lax.stop_gradient")
def _stop_gradient(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    value = args[0] if args else keywords.get("x", Constant(None))

    def change(leaf: Data) -> Data:
        node = Node(name, (leaf.node,), site.syntax, site.frame, leaf.node.varies)
        node.shape, node.dtype = leaf.node.shape, leaf.node.dtype
        return Data(node, leaf.traced, leaf.is_array)

    return mapped(value, change)
