"""Functions that are told what axes mean: `verax.axes`, and einops with its patterns."""

from __future__ import annotations

import re
from string import ascii_letters
from typing import TYPE_CHECKING

from ...words import is_batch, is_sequence
from ..axes import declare
from ..events import Fact
from ..graph import Node
from ..numbering import number_of
from ..shapes import Dim, Mismatch, Shape, Size, symbol
from ..shapes.dims import exact_quotient, mul, product
from ..shapes.names import PASSING, meetings, named
from ..shapes.shape import show_shape
from ..shaping import array_function, does_not_fit
from ..values import Constant, Data, Value, mapped
from .registry import handles

if TYPE_CHECKING:
    from ..frame import Site
    from ..machine import Interpreter

_WORD = re.compile(r"[A-Za-z_]\w*")
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
        try:
            _compare_sides(name, left, right, keywords)
            sizes = _bound(left, args[0].node, given, site)
        except Mismatch as error:
            does_not_fit(machine, site, error, [args[0]])
            return result
        if sizes is not None:
            result.node.shape = _written(right, sizes)
    return result


@handles("einops.einsum")
def _einsum(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """`einops.einsum(a, b, "b q d, b k d -> b q k")`: one letter for each of the names."""
    pattern = args[-1].value if args and isinstance(args[-1], Constant) else None
    if not isinstance(pattern, str) or keywords or len(args) < 2 or site.is_open:
        return machine.array(name, site, (*args, *keywords.values()))
    letters: dict[str, str] = {}
    for word in _WORD.findall(pattern):
        if word not in letters:
            free = [it for it in (word[0], *ascii_letters) if it not in letters.values()]
            letters[word] = free[0] if free else "_"
    text = _WORD.sub(lambda it: letters[it[0]], pattern).replace(" ", "")
    return array_function(machine, site, "jax.numpy.einsum", [Constant(text), *args[:-1]], {})


def sides(pattern: object) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]] | None:
    """The axes on both sides of a pattern of einops, each with the names that it is made of."""
    left, arrow, right = str(pattern).partition("->")
    if not arrow:
        return None
    one, other = (
        [tuple(it.strip("()").split()) for it in _TOKEN.findall(side)] for side in (left, right)
    )
    return one, other


def _compare_sides(name: str, left: str, right: str, keywords: dict[str, Value]) -> None:
    """A name that stands on one side only has to be reduced, or told how often to repeat."""
    before, after = (
        {it for it in _WORD.findall(side) if not it.isdigit()} for side in (left, right)
    )
    lost = before - after if name == "einops.rearrange" else set[str]()
    new = after - before - (keywords.keys() if name == "einops.repeat" else set())
    for names, side, other in ((lost, "left", "right"), (new, "right", "left")):
        if names:
            which = ", ".join(f"`{it}`" for it in sorted(names))
            raise Mismatch(f"the pattern names {which} on its {side}, and not on its {other}")


def _bound(left: str, node: Node, given: dict[str, Dim], site: Site) -> dict[str, Dim] | None:
    """The sizes of a pattern's names, by the array on its left; that learns its rank from it."""
    tokens = _TOKEN.findall(left)
    if "..." in tokens:
        return None
    shape: Shape = node.shape
    if not isinstance(shape, tuple):
        scope = f"{PASSING}{number_of(site.frame.function)}"
        shape = tuple(_new(token, given, scope, number_of(node)) for token in tokens)
        node.shape = shape
    if len(shape) != len(tokens):
        raise Mismatch(f"the pattern names {len(tokens)} axes of {show_shape(shape)}")
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
