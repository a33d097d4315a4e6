"""The arguments of a call: by position or by name, and as what is to be compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..shapes import Size
from ..shapes.dims import product
from ..values import NONE, Constant, Sequence, Value

if TYPE_CHECKING:
    from ..frame import Site
    from ..machine import Interpreter


def argument(
    args: list[Value], keywords: dict[str, Value], position: int, name: str
) -> Value | None:
    """The argument that a function takes at a position, or by a name."""
    return args[position] if position < len(args) else keywords.get(name)


def first_of(args: list[Value]) -> Value:
    """The first argument by position; `None` if there is none."""
    return args[0] if args else NONE


def compare_by_key(
    machine: Interpreter, site: Site, value: Value, keywords: dict[str, Value]
) -> None:
    """Python compares what a function makes of a value, one by one: `key=` of `sorted` or `max`."""
    key = keywords.get("key")
    if key is not None and not isinstance(key, Constant):
        machine.convert(site, "compared", machine.call(site, key, [value], {}))


def product_of_sizes(args: list[Value], keywords: dict[str, Value]) -> Constant | None:
    """The product of whole numbers that are all known: how many elements a shape has."""
    shape = args[0] if len(args) == 1 and not keywords else None
    items = shape.items if isinstance(shape, Sequence) else None
    sizes = [it.value if isinstance(it, Constant) else None for it in items or ()]
    is_known = items is not None and all(isinstance(it, (int, Size)) for it in sizes)
    return Constant(product(tuple(sizes))) if is_known else None
