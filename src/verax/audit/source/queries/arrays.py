"""What is known of arrays, in words and by axis."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Evidence
from ..events import Call, Fact
from ..frame import Frame
from ..graph import Node
from ..operations import ACROSS
from ..shapes import Shape
from ..shapes.shape import show_shape
from ..values import Constant, Data, External, Sequence, Value, nodes_of

if TYPE_CHECKING:
    from ..facts import SourceFacts

_SCOPE = re.compile(r"#[\w.~]*")


def plain(text: str) -> str:
    """A text without what tells symbols of one name apart."""
    return _SCOPE.sub("", text)


def shape_in_words(shape: Shape) -> str:
    """A shape as a reader would write it."""
    return plain(show_shape(shape))


def array_in_words(facts: SourceFacts, value: Value) -> str:
    """An array by its name and shape."""
    if isinstance(value, Data):
        return f"`{facts.name_of(value)}` {shape_in_words(value.node.shape)}"
    return f"`{value.value}`" if isinstance(value, Constant) else "a value"


def arrays_in_words(facts: SourceFacts, values: list[Value]) -> str:
    """The arrays among some operands."""
    known = [it for it in values if isinstance(it, Data) and it.node.shape not in (None, ())]
    return " and ".join(dict.fromkeys(array_in_words(facts, it) for it in known))


# A value in one of several turns or lanes.
_ONE_OF_SEVERAL = frozenset(("turn", "lane", "copy", "carry"))


def may_be_word(facts: SourceFacts, leaf: Data) -> bool:
    """Whether something may be the key of a dict that is gone through, and no array."""
    node = leaf.node
    while node.operation in _ONE_OF_SEVERAL and node.inputs:
        node = node.inputs[0]
    if leaf.is_array or node.operation != "element" or not node.inputs:
        return False
    whole = node.inputs[0]
    is_array = isinstance(whole.shape, tuple)
    return not is_array and facts.machine.used_as_arrays.isdisjoint((leaf.node, node, whole))


def is_foreign(facts: SourceFacts, frame: Frame, call: ast.Call) -> bool:
    """Whether a function of another library may be called, in a file that has arrays of one."""
    base = call.func.value if isinstance(call.func, ast.Attribute) else None
    if base is None or not facts.module.has_other_arrays:
        return False
    while isinstance(base, ast.Attribute):
        base = base.value
    found = facts.machine.lookup(frame, base.id) if isinstance(base, ast.Name) else None
    return not isinstance(found, External) or not found.name.startswith(("jax", "numpy"))


def are_declared(values: list[Value]) -> bool:
    """Whether the shape of one of these is what an annotation says, and nothing else is known."""
    return any(node.has_told_shape for it in values for node in nodes_of(it))


def names_are_refuted(facts: SourceFacts, frame: Frame) -> bool:
    """Whether a call contradicts the annotations of a function: its names of axes mean nothing."""
    return any(
        it.kind == "passed with other sizes" and it.data["function"] is frame.function
        for it in facts.events(Fact)
    )


def made_here(facts: SourceFacts, values: list[Value]) -> tuple[Evidence, ...]:
    """Where arrays were made."""
    found: list[Evidence] = []
    for value in values:
        if isinstance(value, Data) and value.node.shape not in (None, ()):
            place = value.node.place
            if place is not None:
                found.append(Evidence(f"{array_in_words(facts, value)} is made here", place))
    return tuple(dict.fromkeys(found))


def calls_of(facts: SourceFacts, *names: str) -> Iterator[Call]:
    """Calls of functions, by the last part of their names, of JAX's or of an array's methods."""
    wanted = set(names)
    for full_name, calls in facts.calls_by_name.items():
        module, _, name = full_name.rpartition(".")
        if name in wanted and (module == "ndarray" or module.startswith("jax.")):
            yield from calls


def argument(call: Call, position: int, name: str) -> Value | None:
    """An argument by position or name; the array of a method is the first."""
    return call.args[position] if position < len(call.args) else call.keywords.get(name)


def axis_argument(call: Call, position: int, default: int | None) -> tuple[int, ...] | None:
    """The axes that a call names, counted from the front; `None` if they are not known."""
    given = argument(call, position, "axis")
    array = call.args[0] if call.args else None
    if not isinstance(array, Data) or not isinstance(array.node.shape, tuple):
        return None
    rank = len(array.node.shape)
    if given is None:
        numbers = list(range(rank)) if default is None else [default]
    elif isinstance(given, Constant):
        numbers = list(range(rank)) if given.value is None else [given.value]
    elif isinstance(given, Sequence) and given.items is not None:
        numbers = [it.value if isinstance(it, Constant) else None for it in given.items]
    else:
        return None
    known = [it % rank for it in numbers if type(it) is int and -rank <= it < rank]
    return tuple(known) if len(known) == len(numbers) else None


def origin(node: Node) -> Node:
    """Where a value was made, on the other side of boundaries."""
    while node.operation in ACROSS and node.inputs:
        node = node.inputs[0]
    return node
