"""Values that a function computes from its data and that nothing reads, not even an accumulator.

What JAX computes has no effect besides its result. So a name that gets one and that is never read,
or only to give it its own next value, stands for work that was meant for something.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...finding import Place
from ...words import words_of
from ..frame import Frame
from ..graph import Node
from ..parameters import NamedFunction
from ..remember import walked
from ..values import Data, Instance, Sequence, Value, nodes_of
from .reads import reads_of
from .syntax import handlers_around, holds, statements_in

if TYPE_CHECKING:
    from ..facts import SourceFacts

_COMPUTING = ("jax.numpy.", "jax.nn.", "jax.lax.", "jax.scipy.", "ndarray.", "optax.")
_ARITHMETIC = frozenset("+ - * / @ ** // % -x stack .apply .apply_fn".split())
# To call it is all that a test or a measurement needs.
_TRIALS = frozenset("test bench benchmark warm warmup profile timeit compile main demo".split())
# These libraries write down what is computed, whoever reads it.
_WRITING = ("numpyro.", "pyro.", "oryx.", "flax.nnx.", "jax.experimental.io_callback")
_MAKING = frozenset(
    "param variable sow perturb make_rng get_variable put_variable get_parameter get_state".split()
)


@dataclass(frozen=True)
class Unread:
    """A name that gets a value for nothing; with `is_total`, only its own next value reads it."""

    place: Place
    name: str
    is_total: bool


def unread_values(facts: SourceFacts) -> Iterator[Unread]:
    """All such names of functions of the file."""
    if any(name.startswith(_WRITING) for name in facts.calls_by_name):
        return
    for function, runs in facts.functions():
        if not _TRIALS.isdisjoint(words_of(function.name)):
            continue
        for statement, name in _candidates(function, runs[0]):
            values = [
                (frame, value) for frame in runs for step, value in frame.steps if step is statement
            ]
            if any(_is_data(frame, value) for frame, value in values):
                is_total = reads_of(function).after(statement, name)
                yield Unread(runs[0].place(statement), name, is_total)


def _candidates(function: NamedFunction, frame: Frame) -> list[tuple[ast.stmt, str]]:
    """Statements that give one name a value, which nothing else needs."""
    reads = reads_of(function)
    found: dict[str, ast.stmt] = {}
    for statement, _ in frame.steps:
        name = _target(statement)
        if not name or name.startswith("_") or reads.needs(statement, name):
            continue
        if not _is_tried(frame, function, statement) and not _is_deleted(function, name):
            found[name] = statement
    return [(statement, name) for name, statement in found.items()]


def _target(statement: ast.stmt) -> str:
    """The one name that a statement gives a value which is computed."""
    if isinstance(statement, ast.AugAssign):
        target = statement.target
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0] if isinstance(statement.value, _COMPUTED) else None
    else:
        return ""
    return target.id if isinstance(target, ast.Name) else ""


_COMPUTED = (ast.Call, ast.BinOp)


def _is_tried(frame: Frame, function: NamedFunction, statement: ast.stmt) -> bool:
    """Whether a statement may be there for its error, or for the time that it takes."""
    if any(handlers_around(frame, statement)):
        return True
    return any(
        isinstance(it, (ast.With, ast.AsyncWith)) and holds(it, statement)
        for it in statements_in(function)
    )


def _is_deleted(function: NamedFunction, name: str) -> bool:
    return any(
        isinstance(it, ast.Name) and it.id == name and isinstance(it.ctx, ast.Del)
        for it in walked(function)
    )


def _is_data(frame: Frame, value: Value) -> bool:
    """Whether a value is certainly computed by JAX, from what a function is given."""
    if isinstance(value, (Sequence, Instance)):
        nodes = nodes_of(value)
        return frame.is_staged and any(_is_computed(it) and _is_of_input(it) for it in nodes)
    if not isinstance(value, Data) or value.node.is_key or value.traced is False:
        return False
    node = value.node
    is_computed = _is_computed(node) if node.frame is frame else frame.is_staged
    return is_computed and not _is_made(node) and _is_of_input(node)


def _is_computed(node: Node) -> bool:
    return node.operation.startswith(_COMPUTING) or node.operation in _ARITHMETIC


def _is_made(node: Node) -> bool:
    """Whether a value is one that a module keeps, whoever reads it."""
    return node.operation.rpartition(".")[2] in _MAKING or "callback" in node.operation


def _is_of_input(node: Node) -> bool:
    """Whether it depends on an array that comes from elsewhere, and not on sizes alone."""
    pending, seen = [node], {node}
    while pending:
        it = pending.pop()
        if it.operation == "static":
            continue
        if it.operation in _INPUTS:
            return True
        for one in it.inputs:
            if one not in seen:
                seen.add(one)
                pending.append(one)
    return False


_INPUTS = frozenset("parameter argument carry lane slice primal turn".split())
