"""Values that a function computes from its data and that nothing reads, not even an accumulator.

What JAX computes has no effect besides its result. So a name that gets one and that is never read,
or only to give it its own next value, stands for work that was meant for something.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....finding import Place
from ....words import words_of
from ...frame import Frame
from ...graph import Node
from ...library.layers import only_computes
from ...operations import ARITHMETIC
from ...parameters import NamedFunction
from ...remember import each
from ...values import Data, Instance, Sequence, Value, nodes_of
from ..reads import reads_of
from ..syntax import handlers_around, holds, statements_in
from .dropped_states import named_parts_of

if TYPE_CHECKING:
    from ...facts import SourceFacts

_COMPUTING = ("jax.numpy.", "jax.nn.", "jax.lax.", "jax.scipy.", "ndarray.", "optax.")
_ARITHMETIC = ARITHMETIC | {"@", "stack", ".apply", ".apply_fn"}
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
        candidates = list(_candidates(function, runs[0]))
        steps: dict[ast.stmt, list[tuple[Frame, Value]]] = {it: [] for it, _ in candidates}
        for frame in runs if steps else ():
            for step, value in frame.steps:
                if step in steps:
                    steps[step].append((frame, value))
        for statement, name in candidates:
            values = [
                (frame, part)
                for frame, value in steps[statement]
                for part in _named(statement, name, value)
            ]
            if any(_is_data(frame, value) for frame, value in values):
                is_total = reads_of(function).after(statement, name)
                yield Unread(runs[0].place(statement), name, is_total)


def unread_containers(facts: SourceFacts) -> Iterator[Unread]:
    """Dicts that a function makes and fills, and that nothing reads.

    A list that is filled and never read may be a record of what was there to look at.
    """
    for function, runs in facts.functions():
        reads = reads_of(function)
        for name, fills in _filled(function).items() if reads.is_clear else ():
            filled = sum(1 for it in fills for one in reads.lines.get(name, ()) if holds(it, one))
            own = len(reads.lines.get(name, ()))
            if filled and name not in reads.within and filled == own:
                yield Unread(runs[0].place(fills[-1]), name, False)


def _made_empty(function: NamedFunction) -> list[str]:
    """Names that get an empty dict in a function, and nothing else."""
    found: dict[str, bool] = {}
    for it in statements_in(function):
        if not isinstance(it, ast.Assign) or len(it.targets) > 1:
            continue
        target, value = it.targets[0], it.value
        is_pair = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        values = value.elts if is_pair and isinstance(value, ast.Tuple) else [value] * len(targets)
        for one, of in zip(targets, values, strict=False):
            if isinstance(one, ast.Name):
                found[one.id] = found.get(one.id, True) and _is_empty(of)
    return [name for name, is_empty in found.items() if is_empty and not name.startswith("_")]


def _is_empty(value: ast.expr) -> bool:
    return isinstance(value, ast.Dict) and not value.keys


def _filled(function: NamedFunction) -> dict[str, list[ast.stmt]]:
    """The dicts that a function makes, with the statements that only put something into one."""
    found: dict[str, list[ast.stmt]] = {it: [] for it in _made_empty(function)}
    for statement in statements_in(function) if found else ():
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        owner = target.value if isinstance(target, ast.Subscript) else None
        if isinstance(owner, ast.Name) and owner.id in found:
            found[owner.id].append(statement)
    return found


def _candidates(function: NamedFunction, frame: Frame) -> list[tuple[ast.stmt, str]]:
    """Statements that give one name a value, which nothing else needs."""
    reads = reads_of(function)
    found: dict[str, ast.stmt] = {}
    for statement, _ in frame.steps:
        for name in _targets(statement):
            if name.startswith("_") or reads.needs(statement, name) or name in reads.deleted:
                continue
            if not _is_tried(frame, function, statement):
                found[name] = statement
    return [(statement, name) for name, statement in found.items()]


def _named(statement: ast.stmt, name: str, value: Value) -> Iterator[Value]:
    """What a name gets of the value of a statement."""
    if not isinstance(statement, ast.Assign):
        yield value
        return
    for part, of in named_parts_of(statement.targets[0], value):
        if isinstance(part, ast.Name) and part.id == name:
            yield of


def _targets(statement: ast.stmt) -> list[str]:
    """The names that a statement gives values which are computed, each by itself."""
    if isinstance(statement, ast.AugAssign):
        return [statement.target.id] if isinstance(statement.target, ast.Name) else []
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return []
    target, value = statement.targets[0], statement.value
    pairs = [(target, value)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = list(zip(target.elts, value.elts, strict=False))
    return [
        name.id for name, of in pairs if isinstance(name, ast.Name) and isinstance(of, _COMPUTED)
    ]


_COMPUTED = (ast.Call, ast.BinOp)


def _is_tried(frame: Frame, function: NamedFunction, statement: ast.stmt) -> bool:
    """Whether a statement may be there for its error, or for the time that it takes."""
    if any(handlers_around(frame, statement)):
        return True
    return any(holds(it, statement) for it in each(function, ast.With, ast.AsyncWith))


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
    name = node.operation
    return name.startswith(_COMPUTING) or name in _ARITHMETIC or only_computes(name)


def _is_made(node: Node) -> bool:
    """Whether a value is one that a module keeps, whoever reads it."""
    name = node.operation.rpartition(".")[2]
    if name == "call" and node.inputs:
        name = node.inputs[0].label  # A method of which only the name is known.
    return name in _MAKING or "callback" in node.operation


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
