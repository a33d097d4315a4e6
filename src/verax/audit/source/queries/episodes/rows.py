"""In which order the rows of an array lie, compared with those of the arrays beside it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....words import is_episode_end, words_of
from ...graph import Node
from ...operations import CASTS
from ...values import Constant, Data, Instance, Mapping, Sequence, leaves
from ..names import named_parts

if TYPE_CHECKING:
    from ...facts import SourceFacts
    from ...frame import Frame
    from ..sameness import Sameness

SHUFFLE = "jax.random.permutation"
_TAKES = frozenset(("jax.numpy.take", "ndarray.take"))
FLATTENS = frozenset(
    f"{it}.{name}" for it in ("jax.numpy", "ndarray") for name in ("reshape", "ravel", "flatten")
)
EXCHANGES = frozenset(
    f"{it}.{name}" for it in ("jax.numpy", "ndarray") for name in ("swapaxes", "moveaxis", "T")
)
# What a record, a loop, a function or a map hands out as it is.
_TAKEN_FROM = frozenset("field stack parameter slice lane carry last argument turn".split())
# One number of each row, whatever it is.
_KEEPS = CASTS | frozenset(
    "- / * primal jax.lax.stop_gradient jax.numpy.squeeze ndarray.squeeze".split()
)


@dataclass(frozen=True, eq=False)
class Rows:
    """What was done to the rows of an array: `shuffled` by which order, `flattened` where.

    `name` is that of the field or key that it was put into, if there is one. `exchanged` is where
    two axes changed places before they were made into one, `is_followed` whether all is known that
    was done to it before. `origins` are the records, or the
    outputs of a loop, that it was taken from, `wider_origins` also what these were made from.
    """

    leaf: Node
    name: str
    shuffled: Node | None
    flattened: Node | None
    exchanged: Node | None
    is_followed: bool
    origins: frozenset[object]
    wider_origins: frozenset[object]


def together(facts: SourceFacts) -> Iterator[tuple[Frame, ast.stmt, list[Rows]]]:
    """The arrays in every tuple, record or dict that functions of the file put together.

    Who puts them together comes before those that it gives them to.
    """
    for frame in sorted(facts.own_frames, key=lambda it: -it.depth):
        for statement, value in frame.steps:
            if isinstance(value, (Sequence, Mapping, Instance)):
                names = {node: name for name, node in named_parts(value)}
                found = [it.node for it in leaves(value, 30)]
                parts = [rows_of(it, names.get(it, "")) for it in found]
                if len(parts) > 1:
                    yield frame, statement, parts


def rows_of(leaf: Node, name: str = "") -> Rows:
    """What was done to the rows of an array since it was taken from where it comes from."""
    node, shuffled, flattened, exchanged = leaf, None, None, None
    for _ in range(24):
        if not node.inputs:
            break
        orders = [it for it in node.inputs[1:] if it.operation == SHUFFLE]
        if orders and (node.operation == "item" or node.operation in _TAKES):
            shuffled = shuffled or orders[0]
        elif node.operation in FLATTENS:
            flattened = node
        elif node.operation in EXCHANGES and flattened is not None:
            exchanged = node if exchanged is None else None
        elif not (node.operation in _KEEPS or _is_part(node)):
            break
        node = node.inputs[0]
    origins = _origins(node), _origins(node, True)
    while node.operation in ("item", "element") and node.inputs:
        node = node.inputs[0]
    is_followed = node.operation in _TAKEN_FROM
    return Rows(leaf, name, shuffled, flattened, exchanged, is_followed, *origins)


def belong_together(one: Rows, other: Rows, sameness: Sameness) -> bool:
    """Whether row i of one array is to meet row i of another one, as far as a program shows it.

    They are as many for certain, and no names tell that they are different kinds of things: the
    bodies and the joints of a state have an order of their own.
    """
    names = (one.name, other.name)
    is_named = any(names) and not any(map(_is_of_examples, names))
    return not is_named and _are_as_many(one.shuffled, other.shuffled, sameness)


# What a learner is given for each step, or each example.
_EXAMPLES = frozenset(
    "obs observation observations action actions reward rewards value values advantage advantages "
    "return returns target targets label labels input inputs x y image images logp".split()
)


def _is_of_examples(name: str) -> bool:
    return not _EXAMPLES.isdisjoint(words_of(name)) or is_episode_end(name)


def _are_as_many(one: Node | None, other: Node | None, sameness: Sameness) -> bool:
    """Whether two orders are certainly of the same length."""
    if one is None or other is None or len(one.operands) < 2 or len(other.operands) < 2:
        return False
    first, second = one.operands[1], other.operands[1]
    if isinstance(first, Data) and isinstance(second, Data):
        return sameness.are(first.node, second.node)
    if isinstance(first, Constant) and isinstance(second, Constant):
        return first.value == second.value
    return False


def _is_part(node: Node) -> bool:
    return node.operation == "item" and isinstance(node.syntax, ast.Subscript)


def _origins(node: Node, is_wide: bool = False) -> frozenset[object]:
    """The loops and records that a value is made from: the first of them on each way, or more."""
    found: set[object] = set()
    pending, seen = [node], {node}
    while pending and len(seen) < 200:
        it = pending.pop()
        if it.operation == "stack":
            found.add(it.syntax)
            if is_wide:
                pending += [source for source in it.inputs if source not in seen]
                seen.update(it.inputs)
        elif it.operation == "field" and it.inputs:
            found.add(it.inputs[0])
        elif it.operation == "parameter":
            found.add((it.frame, "parameters"))
        else:
            new = [source for source in it.inputs if source not in seen]
            seen.update(new)
            pending += new
    return frozenset(found)
