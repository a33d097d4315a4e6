"""Functions that are told what axes mean: `verax.axes`, and einops with its patterns."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...words import is_batch, is_sequence
from ..axes import declare
from ..events import Fact
from ..graph import Node
from ..shapes import Dim, Shape, Size, symbol
from ..shapes.dims import exact_quotient, mul, product
from ..shapes.names import PASSING, meetings, named
from ..values import Constant, Data, Value, mapped
from .registry import handles

if TYPE_CHECKING:
    from ..frame import Site
    from ..machine import Interpreter

_TOKEN = re.compile(r"\([^()]*\)|\.\.\.|[^\s()]+")


@handles("verax.axes", "verax.audit.axes")
def _axes(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    value = args[0] if args else keywords.get("x", Constant(None))
    names = args[1] if len(args) > 1 else keywords.get("names")
    if not isinstance(names, Constant) or not isinstance(names.value, str):
        return value
    words = names.value.split()

    def change(leaf: Data) -> Data:
        node = Node("axes", (leaf.node,), site.syntax, site.frame, leaf.node.varies)
        node.label, node.dtype, node.is_key = leaf.node.label, leaf.node.dtype, leaf.node.is_key
        meetings()
        node.shape = declare(leaf.node, words)
        result = Data(node, leaf.traced, True, leaf.type)
        for pair in meetings():
            data = {"names": pair, "where": "declared", "operands": [leaf], "result": result}
            machine.note(Fact(site.syntax, site.frame, "clash", data))
        return result

    return mapped(value, change)


@handles("einops.rearrange", "einops.reduce", "einops.repeat")
def _einops(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    result = machine.array(name, site, (*args, *keywords.values()), is_jax=False)
    pattern = args[1] if len(args) > 1 else keywords.get("pattern")
    if not args or not isinstance(args[0], Data) or not isinstance(pattern, Constant):
        return result
    result.node.dtype = args[0].node.dtype
    left, arrow, right = str(pattern.value).partition("->")
    if arrow:
        given: dict[str, Dim] = {
            key: it.value
            for key, it in keywords.items()
            if isinstance(it, Constant) and isinstance(it.value, (int, Size))
        }
        sizes = _bound(left, args[0].node, given, site)
        if sizes is not None:
            result.node.shape = _written(right, sizes)
    return result


def _bound(left: str, node: Node, given: dict[str, Dim], site: Site) -> dict[str, Dim] | None:
    """The sizes of a pattern's names, by the array on its left; that learns its rank from it."""
    tokens = _TOKEN.findall(left)
    if "..." in tokens:
        return None
    shape: Shape = node.shape
    if not isinstance(shape, tuple):
        scope = f"{PASSING}{id(site.frame.function)}"
        shape = tuple(_new(token, given, scope, id(node)) for token in tokens)
        node.shape = shape
    if len(shape) != len(tokens):
        return None
    sizes = dict(given)
    for token, dim in zip(tokens, shape, strict=True):
        names = token.strip("()").split()
        unknown = [it for it in names if it not in sizes and not it.isdigit()]
        if len(unknown) == 1:
            rest = product(tuple(_size(it, sizes) for it in names if it != unknown[0]))
            sizes[unknown[0]] = dim if rest == 1 else exact_quotient(dim, rest)
    return sizes


def _new(token: str, given: dict[str, Dim], scope: object, of: object) -> Dim:
    """A size for an axis of an array of which nothing is known."""
    if token.isdigit():
        return int(token)
    if token.startswith("("):
        size: Dim = 1
        for name in token.strip("()").split():
            size = mul(size, _new(name, given, scope, of))
        return size
    if token in given:
        return given[token]
    # One letter is often two things; batch and time are what they are.
    if is_batch(token) or is_sequence(token):
        return named(token, scope, of)
    return symbol(f"{token}#{of}")


def _size(token: str, sizes: dict[str, Dim]) -> Dim:
    return int(token) if token.isdigit() else sizes.get(token)


def _written(right: str, sizes: dict[str, Dim]) -> Shape:
    tokens = _TOKEN.findall(right)
    if "..." in tokens:
        return None
    return tuple(
        product(tuple(_size(name, sizes) for name in token.strip("()").split())) for token in tokens
    )
