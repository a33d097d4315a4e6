"""Loops of Python's: the body is run once with what comes first, and again if values change kind.

Names that the body assigns vary with the loop, and so does what is made from them. What does not
vary is the same in each turn: a random key that is drawn from, for instance.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from . import parts
from .assigning import assign
from .events import Fact
from .frame import Frame, Region, Site
from .graph import Node
from .joining import join
from .library.layers import is_layer
from .remember import children, remembered
from .values import (
    Bound,
    Constant,
    Data,
    Function,
    Instance,
    Mapping,
    Partial,
    Sequence,
    Value,
    mapped,
)
from .work import spend

if TYPE_CHECKING:
    from .machine import Interpreter


# What has names of its own, and gives none to the function around it.
_OWN_NAMES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@remembered
def assigned_names(syntax: ast.AST) -> frozenset[str]:
    """The names that a piece of code assigns in its own function."""
    names: set[str] = set()
    pending: list[ast.AST] = [syntax]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                names.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
            if node is not syntax:
                continue
        elif isinstance(node, _OWN_NAMES):
            continue
        pending.extend(children(node))
    return frozenset(names)


# Turns that are gone through one by one: of one loop, and of loops in loops together.
FEW = 6
_FEW_TOGETHER = 36
# Names that become the keys of a dict: without them, nothing of it is known.
_FEW_NAMES = 16


def known_turns(
    machine: Interpreter,
    iterated: Value,
    names_matter: bool = False,
    written: ast.expr | None = None,
) -> list[Value] | None:
    """What a loop goes through, one by one, if it is worth it: a few layers in an example.

    Names and functions have nothing in common that one turn for all of them could go by, nor have
    the elements of a display, as which `written` may be given: `(obs, action, reward)`. Where
    `names_matter`, it is worth it for any constants: they become the keys of a dict.
    """
    items = _gone_through(iterated)
    if items is None:
        return None
    are_names = names_matter and all(isinstance(it, Constant) for it in items)
    are_apart = are_names or isinstance(written, (ast.Tuple, ast.List)) or stand_alone(iterated)
    if not machine.is_thorough and not are_apart:
        return None
    few = _FEW_NAMES if are_names else FEW
    is_small = len(items) <= few and len(items) * machine.turns <= _FEW_TOGETHER
    return list(items) if is_small else None


def _gone_through(iterated: Value) -> list[Value] | None:
    """All that a loop goes through, where each is known: elements, keys or letters."""
    if isinstance(iterated, Sequence):
        return iterated.items if iterated.kind != "set" else None
    if isinstance(iterated, Mapping) and not iterated.is_open:
        return [Constant(it) for it in iterated.items]
    if isinstance(iterated, Constant) and isinstance(iterated.value, str):
        return [Constant(it) for it in iterated.value]
    return None


def stand_alone(value: Value) -> bool:
    """Whether something holds a few names or functions, each of which is known."""
    items = value.items if isinstance(value, Sequence) and value.kind != "set" else None
    if not items or len(items) > FEW:
        return False
    return all(map(_stands_alone, items)) or _are_columns(value)


def _are_columns(value: Value) -> bool:
    """Whether something is `zip(*rows)`, of rows whose number is not known: each is of its kind."""
    items = (value.items or []) if isinstance(value, Sequence) and value.kind == "zip" else []
    return bool(items) and all(isinstance(it, Sequence) and it.items is None for it in items)


def _stands_alone(item: Value, depth: int = 0) -> bool:
    if isinstance(item, Constant):
        return isinstance(item.value, str)
    if isinstance(item, Data) and item.node.is_key:
        return True  # Each is used up in its own turn, and in no other.
    if isinstance(item, Sequence) and item.kind == "tuple" and item.type is None:
        # `for key, (name, shape) in zip(keys, shapes.items())`
        return depth < 2 and any(_stands_alone(it, depth + 1) for it in item.items or ())
    return isinstance(item, (Function, Partial, Instance, Bound)) or is_layer(item)


@contextmanager
def one_by_one(machine: Interpreter, turns: list[Value]) -> Generator[None]:
    """While each turn of a loop is gone through: loops inside of it have that many more."""
    before = machine.turns
    machine.turns = before * max(len(turns), 1)
    try:
        yield
    finally:
        machine.turns = before


@contextmanager
def each_turn(machine: Interpreter, site: Site, iterated: Value) -> Generator[Region]:
    """While a function runs that is called once for each element of something."""
    frame, outer = site.frame, site.frame.region
    frame.region = Region(
        "loop", outer, frame.place(site.syntax), syntax=site.syntax, iterated=iterated
    )
    machine.control += 1
    try:
        yield frame.region
    finally:
        machine.control -= 1
        frame.region = outer


def _is_left_early(syntax: ast.AST) -> bool:
    return any(isinstance(it, (ast.Break, ast.Continue, ast.Return)) for it in ast.walk(syntax))


def for_statement(machine: Interpreter, frame: Frame, syntax: ast.For) -> bool:
    """`for … in …:`."""
    iterated = machine.evaluate(frame, syntax.iter)
    site = Site(frame, syntax.iter)
    turns = known_turns(machine, iterated)
    if turns is not None and not syntax.orelse and not _is_left_early(syntax):
        with one_by_one(machine, turns):
            for item in turns:
                assign(machine, frame, syntax.target, item)
                if not machine.execute(frame, syntax.body):
                    return False
        return True

    def start(region: Region) -> None:
        given = varying(parts.element(machine, site, iterated), region, syntax.target, frame)
        assign(machine, frame, syntax.target, given)

    _loop(machine, frame, syntax, start, iterated)
    return True


def while_statement(machine: Interpreter, frame: Frame, syntax: ast.While) -> bool:
    """`while …:`."""
    from .expressions import condition

    def start(region: Region) -> None:
        condition(machine, frame, syntax.test, "while")

    _loop(machine, frame, syntax, start, None)
    forever = isinstance(syntax.test, ast.Constant) and syntax.test.value
    return not forever or any(isinstance(it, ast.Break) for it in ast.walk(syntax))


def _loop(
    machine: Interpreter,
    frame: Frame,
    syntax: ast.For | ast.While,
    start: Callable[[Region], None],
    iterated: Value | None,
) -> None:
    place = frame.place(syntax)
    outer_region, outer_breaks = frame.region, frame.breaks
    region = Region("loop", outer_region, place, syntax=syntax, iterated=iterated)
    before, used = frame.environment, machine.used
    names = [name for name in assigned_names(syntax) if name in before]
    frame.region = region
    machine.control += 1
    state = after = before
    entered: dict[str, Value] = {}
    ends: list[tuple[dict[str, Value], dict[Any, Any]]] = []
    for turn in range(2):
        frame.environment, machine.used, frame.breaks = dict(state), dict(used), []
        entered = {name: varying(state[name], region, syntax, frame) for name in names}
        frame.environment.update(entered)
        start(region)
        live = machine.execute(frame, syntax.body)
        ends = [*frame.breaks, *([(frame.environment, machine.used)] if live else [])]
        after = _after(before, [end for end, _ in ends])
        if (
            turn == 1
            or machine.control > 2
            or not any(_changed(state[name], after[name]) for name in names)
        ):
            break
        # A second turn starts where the first one ended, if it ever gets there.
        first, *others = [end for end, _ in ends] or [after]
        state = before | _after(first, others)
    machine.control -= 1
    frame.region, frame.breaks = outer_region, outer_breaks
    if _makes_a_turn(iterated) and not _is_left_early(syntax):
        after.update(_certain([end for end, _ in ends], {name: after[name] for name in names}))
    frame.environment = after
    carried = {name: (entered[name], after[name]) for name in names}
    spent = {node for end, used_up in ends for node in _held_by(end, names) if node in used_up}
    left = {name: [end[name] for end, _ in ends if name in end] for name in names}
    data = {"region": region, "iterated": iterated, "carried": carried, "spent": spent}
    machine.note(Fact(syntax, frame, "loop", {**data, "left": left}))
    machine.used = {**used, **machine.used}
    machine.execute(frame, syntax.orelse)


def _held_by(end: dict[str, Value], names: list[str]) -> Iterator[Node]:
    for name in names:
        value = end.get(name)
        if isinstance(value, Data):
            yield value.node


def _after(before: dict[str, Value], ends: list[dict[str, Value]]) -> dict[str, Value]:
    after = dict(before)
    for end in ends:
        spend(len(end))
        for name, value in end.items():
            own = after.get(name)
            if own is None:
                after[name] = value
            elif own is not value:
                after[name] = join(own, value)
    return after


def _makes_a_turn(iterated: Value | None) -> bool:
    """Whether a loop goes through its body for certain: `for i in range(8)`."""
    length = iterated.length if isinstance(iterated, Sequence) else None
    return isinstance(length, int) and length > 0


def _certain(ends: list[dict[str, Value]], after: dict[str, Value]) -> Iterator[tuple[str, Value]]:
    """The names that hold tracers whenever a turn ends, whatever they held before the first one."""
    for name, value in after.items():
        held = [end.get(name) for end in ends]
        are_tracers = all(isinstance(it, Data) and it.traced for it in held)
        if held and are_tracers and isinstance(value, Data) and value.traced is None:
            yield name, Data(value.node, True, value.is_array, value.type, value.limit)


def _changed(one: Value, other: Value) -> bool:
    if isinstance(one, Data) and isinstance(other, Data):
        return one.traced != other.traced
    if isinstance(one, Constant) and isinstance(other, Data):
        # Flags are known in the first turn; numbers are not even then.
        return other.traced is not False or isinstance(one.value, (bool, str, type(None)))
    return type(one) is not type(other)


def varying(value: Value, region: Region, syntax: ast.AST, frame: Frame) -> Value:
    """A value that is another one in each turn of a loop, of the same kind."""

    def change(leaf: Data) -> Data:
        node = Node("turn", (leaf.node,), syntax, frame, leaf.node.varies | {region})
        node.shape, node.dtype = leaf.node.shape, leaf.node.dtype
        node.is_key = leaf.node.is_key
        node.label = leaf.node.label
        return Data(node, leaf.traced, leaf.is_array, leaf.type, leaf.limit)

    if isinstance(value, Constant):
        if value.value is None or isinstance(value.value, (str, bool)):
            return value
        node = Node("turn", (), syntax, frame, frozenset((region,)))
        return Data(node, False, True)
    return mapped(value, change, is_same=True)
