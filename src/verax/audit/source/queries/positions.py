"""Which steps of a sequence a value holds: those of an array, later ones, or earlier ones.

`values[1:]` is `values` one step later, and so is `values[1:]` with a last row appended;
`values[:-1]` is at the same steps as `values`, and `values[t - 1]` one step before `values[t]`.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from ..graph import Node
from ..operations import ARITHMETIC, CASTS
from ..text import text_of
from .indices import index_parts, is_new_axis, is_whole
from .syntax import written_number

_JOINS = frozenset(("jax.numpy.concatenate", "jax.numpy.append"))
# They change every element, and leave it where it is.
_ELEMENTWISE = CASTS | ARITHMETIC | {"~x", "jax.lax.stop_gradient"}
_ROWS = frozenset(
    ("jax.numpy.expand_dims", "jax.numpy.atleast_1d", "jax.numpy.zeros", "jax.numpy.ones")
)


@dataclass(frozen=True)
class Position:
    """An array, and how many steps later than its own a value is taken from it.

    `counter` is the variable of a loop that tells the step; empty where all steps are taken.
    `is_cut` says that an index was written for that.
    """

    whole: Node
    axis: int = 0
    counter: str = ""
    shift: int = 0
    is_cut: bool = field(default=False, compare=False)


def position(node: Node, is_changed: bool = False) -> Position:
    """Where a value stands in the array that it is cut from, be it with `is_changed` elements."""
    axis, counter, shift, is_cut = 0, "", 0, False
    while True:
        if is_changed and node.operation in _ELEMENTWISE and len(node.inputs) == 1:
            node = node.inputs[0]
        elif node.operation in _JOINS and len(node.inputs) == 2:
            first, last = node.inputs
            if is_one_row(last):
                node = first
            elif is_one_row(first):
                node, shift = last, shift - 1
            else:
                break
        elif node.operation == "item" and node.inputs:
            cut = _cut(node.syntax)
            if cut is None or (counter and cut[1]):
                break
            axis, counter, shift = cut[0], counter or cut[1], shift + cut[2]
            node, is_cut = node.inputs[0], True
        else:
            break
    return Position(node, axis, counter, shift, is_cut)


def _cut(syntax: ast.AST | None) -> tuple[int, str, int] | None:
    """The axis, the counter and the first step of an index along one axis."""
    if not isinstance(syntax, ast.Subscript) or not isinstance(syntax.ctx, ast.Load):
        return None
    parts = enumerate(index_parts(syntax))
    cut = [(axis, it) for axis, it in parts if not is_whole(it) and not is_new_axis(it)]
    if len(cut) != 1:
        return None
    axis, entry = cut[0]
    if not isinstance(entry, ast.Slice):
        moved = _counted(entry)
        return None if moved is None else (axis, *moved)
    start = written_number(entry.lower) if entry.lower is not None else 0
    if entry.step is not None or start is None or start < 0:
        return None
    return axis, "", start


def _counted(syntax: ast.expr) -> tuple[str, int] | None:
    """A variable and what is added to it: `t`, `t + 1`, `t - 1`."""
    if isinstance(syntax, ast.Name):
        return syntax.id, 0
    if not isinstance(syntax, ast.BinOp) or not isinstance(syntax.left, ast.Name):
        return None
    number = written_number(syntax.right)
    if number is None or not isinstance(syntax.op, (ast.Add, ast.Sub)):
        return None
    return syntax.left.id, number if isinstance(syntax.op, ast.Add) else -number


def is_one_row(node: Node) -> bool:
    """Whether an array is one step of a sequence: `x[None]`, `x[-1:]`."""
    if node.operation in _ROWS:
        return True
    return index_text(node) in (
        *("None", "None, :", "None, ...", "-1:", ":1", "jnp.newaxis", "jnp.newaxis, :", ":, None"),
    )


def is_last(node: Node) -> bool:
    """Whether a value is the last step of an array: `x[-1]`."""
    return index_text(node) in ("-1", "-1:", "-1, :", "-1, ...", ":, -1")


def index_text(node: Node) -> str:
    """What is written between the brackets of an index; empty if a value is made otherwise."""
    syntax = node.syntax
    if node.operation != "item" or not isinstance(syntax, ast.Subscript):
        return ""
    return text_of(syntax.slice).removeprefix("(").removesuffix(")")
