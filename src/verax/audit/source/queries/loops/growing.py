"""Arrays that have another shape in each turn of a loop of Python's."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ...events import Call, Event, Fact, Mutation
from ...facts import SourceFacts
from ...frame import Frame
from ...graph import Node
from ...operations import ARITHMETIC, CASTS, JOINS
from ...text import text_of
from ...values import Data, Instance, Mapping, Sequence, Value, leaves
from ..syntax import holds
from .bodies import paired_leaves
from .repetition import counts, loops_around, loops_of

_JOINS = JOINS | frozenset(
    f"{module}.{name}"
    for module in ("jax.numpy", "numpy")
    for name in ("append", "insert", "pad", "asarray")
)
# Which argument says how long the result is.
_SIZES = {
    **{f"jax.numpy.{name}": 0 for name in ("zeros", "ones", "full", "empty", "arange", "eye")},
    "jax.lax.dynamic_slice_in_dim": 2,
    "jax.lax.dynamic_slice": 2,
}
_MADE = frozenset((*_SIZES, "jax.lax.slice_in_dim"))
# The result has the shape of its operands.
_KEEPS = (CASTS - _JOINS) | ARITHMETIC | {"turn", "jax.numpy.roll"}
_DEPTH = 8


_Loops = set[ast.stmt | ast.expr]


@dataclass(frozen=True)
class Grown:
    """Something that has another shape in each turn of some loops, and how it is written.

    `start` is what it was before the first turn.
    """

    text: str
    loops: _Loops
    start: Node | None = None


@dataclass(frozen=True)
class Growing:
    """Arrays that grow, and lists, by the syntax that makes them."""

    arrays: dict[Node, Grown] = field(default_factory=dict)
    lists: dict[ast.AST | None, _Loops] = field(default_factory=dict)
    # What an object or a dict holds before the first turn, by the name under which it is kept.
    kept: dict[tuple[Node, object], Grown] = field(default_factory=dict)

    def parts(self, value: Value, read: Iterable[object] = ()) -> Iterator[Grown]:
        """What grows of an argument, where some attributes and keys are read."""
        if isinstance(value, Sequence) and value.syntax in self.lists:
            yield Grown("a list", self.lists[value.syntax])
        for leaf in leaves(value):
            found = self._array(leaf.node)
            if found is None and self.kept:
                found = next((it for key in read if (it := self.kept.get((leaf.node, key)))), None)
            if found is not None:
                yield found

    def _array(self, node: Node, depth: int = 0) -> Grown | None:
        """What an array is, or has the shape of, that grows."""
        if node in self.arrays:
            return self.arrays[node]
        if node.operation == "join":
            known = {it: self.arrays[it] for it in node.inputs if it in self.arrays}
            starts = {it.start for it in known.values()}
            # An object that a loop has changed, or has not yet.
            is_one = all(it in known or it in starts for it in node.inputs)
            return next(iter(known.values()), None) if is_one else None
        if node.operation not in _KEEPS or depth > 3:
            return None
        inner = filter(None, (self._array(it, depth + 1) for it in node.inputs))
        found = next(inner, None)
        if found is not None and node.operation == "turn":
            # A loop goes through arrays that another one has made.
            through = _loops_with(node) - _loops_with(node.inputs[0])
            return Grown(found.text, found.loops | through)
        return found


def growing(facts: SourceFacts) -> Growing:
    """All that grows in the loops of a program."""
    found: dict[Node, Grown] = {}
    for fact in facts.events(Fact):
        if fact.kind == "slice" and _grows(fact):
            found |= _varying(fact.data["result"].node, fact)
        elif fact.kind == "loop":
            found.update(_carried(fact))
    kept: dict[tuple[Node, object], Grown] = {}
    for change in facts.events(Mutation):
        if change.how in ("attribute", "item") and isinstance(change.target, (Instance, Mapping)):
            grown = dict(_kept(change, _loops_outliving(change, change.target)))
            found |= grown
            key = key_read(change.syntax)
            kept |= {(it.start, key): it for it in grown.values() if it.start is not None}
    lists = _growing_lists(facts)
    for call in facts.calls(sorted(_MADE | _JOINS)):
        if not call.args or not isinstance(call.result, Data):
            continue
        if call.name in _MADE:
            if _counts_length(call):
                found |= _varying(call.result.node, call)
        else:
            first = call.args[0]
            around = _loops_lengthening(first, lists) if isinstance(first, Sequence) else set()
            around = around.intersection(_all_loops_around(call))
            if around:
                found[call.result.node] = Grown(f"`{call.text}`", around)
    return Growing(found, lists, kept)


def key_read(syntax: ast.AST) -> object:
    """The name under which an object or a dict keeps what an expression takes of it."""
    match syntax:
        case ast.Attribute(attr=name):
            return name
        case ast.Subscript(slice=ast.Constant(value=key)):
            return key
        case _:
            return None


def _loops_lengthening(made: Sequence, lists: dict[ast.AST | None, _Loops]) -> _Loops:
    """The loops in which a list grows, or another one from each element of which it is made."""
    if made.syntax in lists:
        return lists[made.syntax]
    match made.syntax:
        case ast.ListComp(generators=[ast.comprehension(ifs=[])]):
            pass
        case _:
            return set()
    turns = {region for leaf in leaves(made) for region in loops_of(leaf.node)}
    for region in turns:
        through = region.details.get("iterated")
        if region.details.get("syntax") is made.syntax and isinstance(through, Sequence):
            return lists.get(through.syntax, set())
    return set()


def _counts_length(call: Call) -> bool:
    """Whether the length of what a call makes is counted: not that of `arange(i, i + 8)`."""
    if call.name.endswith(".arange") and len(call.args) > 1:
        return _move_apart(call.args[0], call.args[1])
    if call.name == "jax.lax.slice_in_dim":
        return len(call.args) > 2 and _move_apart(call.args[1], call.args[2])
    sizes = call.args[_SIZES[call.name] :][:1]
    return any(counts(leaf.node) for size in sizes for leaf in leaves(size))


def _varying(node: Node, event: Event) -> dict[Node, Grown]:
    return {node: Grown(f"`{event.text}`", _loops_with(node))}


def _loops_with(node: Node) -> _Loops:
    """The loops of Python's in which something is another one in each turn."""
    return {it.details["syntax"] for it in loops_of(node) if "syntax" in it.details}


def _grows(fact: Fact) -> bool:
    """Whether the part that a slice takes is another one in length in each turn."""
    lower, upper = fact.data["bounds"][:2]
    return _move_apart(lower, upper)


def _move_apart(lower: Value, upper: Value) -> bool:
    """Whether one end moves with a loop and the other stays, or is a count away."""
    if isinstance(lower, Data) and isinstance(upper, Data) and upper.node.operation == "+":
        apart = [it for it in upper.node.inputs if it is not lower.node]
        if len(apart) < len(upper.node.inputs):
            return any(map(counts, apart))
    moves = [set(loops_of(it.node)) if isinstance(it, Data) else set() for it in (lower, upper)]
    return bool(moves[0] ^ moves[1])


def _carried(loop: Fact) -> Iterator[tuple[Node, Grown]]:
    """Arrays that a turn leaves longer or shorter: `x = jnp.concatenate([x, new])`, `x = x[1:]`."""
    for name, (entered, _) in loop.data["carried"].items():
        for left in loop.data["left"][name]:
            for before, after in _resized(entered, left):
                grown = Grown(f"`{name}`", {loop.data["region"].details["syntax"]})
                yield from ((before, grown), (after, grown))


def _kept(change: Mutation, loops: _Loops) -> Iterator[tuple[Node, Grown]]:
    """Arrays that an object keeps, and that become longer or shorter whenever it is asked to."""
    if loops and change.value is not None and change.before is not None:
        for before, after in _resized(change.before, change.value):
            yield after, Grown(f"`{change.text}`", loops, before)


def _resized(before: Value, after: Value) -> Iterator[tuple[Node, Node]]:
    """The arrays of a tree that are longer or shorter, as they were and as they are."""
    for one, other in paired_leaves(before, after):
        if growth(other.node, one.node):
            yield one.node, other.node


def growth(node: Node, before: Node, depth: int = 0) -> int | None:
    """Whether an array has become longer (1), shorter (-1) or neither; `None` if nobody knows."""
    if node is before:
        return 0
    keeps = node.operation in _KEEPS or node.operation == "join"
    own = 0 if keeps else _own_growth(node)
    if own is None or depth >= _DEPTH:
        return None
    made = [growth(it, before, depth + 1) for it in node.inputs]
    known = {it for it in made if it is not None}
    if not known or known >= {1, -1} or (node.operation == "join" and None in made):
        return None  # What is cut off and joined again may be as long as it was.
    change = max(known, key=abs)
    return None if own * change < 0 else own or change


def _own_growth(node: Node) -> int | None:
    """What an operation does to the length of what it is given."""
    if node.operation in _JOINS:
        return int(_parts(node) > 1)
    if node.operation == "item" and _cuts(node):
        return -1
    return None


def _cuts(node: Node) -> bool:
    """Whether a fixed number of rows is cut off at one end: `x[1:]`, `x[:-1]`."""
    index = node.syntax.slice if isinstance(node.syntax, ast.Subscript) else None
    if not isinstance(index, ast.Slice) or index.step is not None:
        return False
    start, stop = ("" if it is None else text_of(it) for it in (index.lower, index.upper))
    return (start.isdigit() and start != "0" and not stop) or (
        not start and stop.startswith("-") and stop[1:].isdigit()
    )


def _parts(node: Node) -> int:
    """How many arrays an operation makes one of, or how many arguments it has."""
    first: Value | None = node.operands[0] if node.operands else None
    if isinstance(first, Sequence):
        return len(first.items or ())
    return len(node.operands) if node.operation.endswith((".append", ".insert", ".pad")) else 1


def _growing_lists(facts: SourceFacts) -> dict[ast.AST | None, _Loops]:
    """Lists, by the syntax that makes them, with the loops in which they only grow."""
    found: dict[ast.AST | None, _Loops] = {}
    shrinking: set[ast.AST | None] = set()
    for change in facts.events(Mutation):
        target = change.target
        if not isinstance(target, Sequence) or target.syntax is None:
            continue
        if change.how in ("append", "extend"):
            around = _loops_outliving(change, target)
            if around:
                found.setdefault(target.syntax, set()).update(around)
        else:
            shrinking.add(target.syntax)
    return {syntax: around for syntax, around in found.items() if syntax not in shrinking}


def _loops_outliving(change: Mutation, target: Sequence | Mapping | Instance) -> _Loops:
    """The loops around a change in whose turns the changed thing is one and the same."""
    made = _loops_called_in(change.made_in)
    syntax = target.node.syntax if isinstance(target, Instance) else target.syntax
    return {
        loop
        for loop in _all_loops_around(change)
        if loop not in made and not (isinstance(syntax, ast.expr) and holds(loop, syntax))
    }


def _all_loops_around(event: Event) -> _Loops:
    """The loops around an event, of its function and of those that call it."""
    return {*loops_around(event.frame, event.syntax), *_loops_called_in(event.frame)}


def _loops_called_in(frame: Frame | None) -> _Loops:
    """The loops in whose turns a function is called."""
    region = frame.region if frame is not None else None
    around = region.chain() if region is not None else ()
    return {it.details["syntax"] for it in around if it.kind == "loop" and "syntax" in it.details}
