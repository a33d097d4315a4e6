"""Trees of shapes: a shape is a tuple, and so no leaf but a tree of sizes."""

from __future__ import annotations

from collections.abc import Iterator

from ...events import Call, Fact
from ...facts import SourceFacts
from ...shapes import Size
from ...values import Constant, Instance, Mapping, Sequence, Value
from ..arrays import argument
from .structure import parts_of

# Functions that make an array, with the position of its shape.
_MAKERS = {
    **{
        f"{module}.{name}": 0
        for module in ("jax.numpy", "numpy")
        for name in ("zeros", "ones", "empty", "full")
    },
    **{
        f"jax.random.{name}": 1
        for name in "normal uniform truncated_normal bernoulli gumbel laplace cauchy".split()
    },
    "jax.ShapeDtypeStruct": 0,
}
# They are asked how many elements a shape has.
_COUNTS = ("numpy.prod", "math.prod")


def shapes_taken_apart(facts: SourceFacts) -> Iterator[tuple[Fact, Call]]:
    """Calls that go through a tree of shapes size by size, each with what makes a shape of one."""
    leaves: dict[int, Fact] = {}
    for fact in facts.events(Fact):
        if fact.kind == "tree map" and _holds_shapes(fact.data["trees"][0]):
            leaves.update((id(it), fact) for it in fact.data["numbers"])
        elif fact.kind == "leaves" and _holds_shapes(fact.data["tree"]):
            leaves.update((id(it), fact) for it in fact.data["result"].items or ())
    told: set[object] = set()
    for name in (*_MAKERS, *_COUNTS) if leaves else ():
        for call in facts.calls((name,)):
            fact = leaves.get(id(argument(call, _MAKERS.get(name, 0), "shape")))
            if fact is not None and fact.syntax not in told:
                told.add(fact.syntax)
                yield fact, call


def _holds_shapes(tree: Value) -> bool:
    """Whether all that a dict or an object holds are tuples of whole numbers."""
    if not isinstance(tree, (Mapping, Instance)):
        return False
    found: list[Sequence] = []
    pending = list(parts_of(tree).values())
    while pending:
        it = pending.pop()
        if isinstance(it, Sequence) and it.kind == "tuple" and it.type is None:
            if not it.items or not all(map(_is_size, it.items)):
                return False
            found.append(it)
        elif isinstance(it, (Mapping, Instance)) and parts_of(it):
            pending.extend(parts_of(it).values())
        else:
            return False
    return any(it.length > 1 for it in found)


def _is_size(value: Value) -> bool:
    return isinstance(value, Constant) and type(value.value) in (int, Size)
