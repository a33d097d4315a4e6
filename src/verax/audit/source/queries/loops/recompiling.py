"""Calls of jitted functions that are compiled in every turn of a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import takewhile

from ....finding import Place
from ...classes import innermost_function
from ...events import Applied, Event, Fact, Mutation
from ...facts import SourceFacts
from ...frame import Frame, Region
from ...graph import Node
from ...remember import walked
from ...values import (
    Bound,
    Constant,
    Data,
    Function,
    Partial,
    Sequence,
    Transformed,
    Value,
    leaves,
)
from ..arguments import ordinary_arguments, static_arguments
from ..indices import index_parts
from ..structures.registration import is_certain_array
from ..syntax import body_of, holds
from .bodies import paired_leaves
from .repetition import (
    counts,
    has_many_turns,
    is_made_inside,
    loops_around,
    loops_of,
    surrounds,
)

_JOINS = frozenset(
    f"{module}.{name}"
    for module in ("jax.numpy", "numpy")
    for name in ("stack", "concatenate", "asarray", "vstack", "hstack", "append")
)


_BLOCKS = (ast.If, ast.Try, ast.With)
_MADE = frozenset(
    f"jax.numpy.{name}" for name in ("zeros", "ones", "full", "empty", "arange", "eye")
)
# The result has the shape of its operands.
_KEEPS = frozenset("+ - * / // % ** turn ndarray.astype".split())


def growing_arrays(facts: SourceFacts) -> dict[Node, str]:
    """Arrays that have another shape in each turn of a loop, and what they are."""
    found: dict[Node, str] = {}
    for fact in facts.events(Fact):
        if fact.kind == "slice" and _grows(fact):
            found[fact.data["result"].node] = f"`{fact.text}`"
    lists = _growing_lists(facts)
    for call in facts.calls(sorted(_MADE | _JOINS)):
        if not call.args or not isinstance(call.result, Data):
            continue
        if call.name in _MADE:
            if any(counts(leaf.node) for leaf in leaves(call.args[0])):
                found[call.result.node] = f"`{call.text}`"
        else:
            first = call.args[0]
            around = lists.get(first.syntax) if isinstance(first, Sequence) else None
            if around and around.intersection(_all_loops_around(call)):
                found[call.result.node] = f"`{call.text}`"
    for grown in _carried(facts):
        found.setdefault(grown, f"`{facts.name_of(Data(grown))}`")
    return found


def _carried(facts: SourceFacts) -> Iterator[Node]:
    """What a turn gets and hands on with something joined to it, or without a part of it."""
    for fact in facts.events(Fact):
        if fact.kind != "loop" or "left" not in fact.data:
            continue
        for name, (entered, _) in fact.data["carried"].items():
            ends: list[Value] = fact.data["left"][name]
            for end in ends:
                for before, after in paired_leaves(entered, end):
                    if _is_joined(before.node, after.node):
                        yield before.node
                        yield after.node


def _is_joined(before: Node, after: Node) -> bool:
    """Whether an array is another one with more, or with less: `jnp.append(x, y)`, `x[1:]`."""
    if before not in after.inputs:
        return False
    if after.operation in _JOINS:
        return after.operation.rpartition(".")[2] != "asarray" and not _is_stacked(after)
    parts = index_parts(after.syntax) if after.operation == "item" else []
    return any(map(_cuts_off, parts))


def _cuts_off(part: ast.expr) -> bool:
    """Whether it is `1:` or `:-1`, after which there is always less."""
    match part:
        case ast.Slice(lower=ast.Constant(value=int(lower)), upper=None, step=None):
            return lower > 0
        case ast.Slice(
            lower=None, upper=ast.UnaryOp(op=ast.USub(), operand=ast.Constant()), step=None
        ):
            return True
        case _:
            return False


def _is_stacked(node: Node) -> bool:
    return node.operation.rpartition(".")[2] == "stack"


def _grows(fact: Fact) -> bool:
    """Whether one end of a slice moves with a loop and the other stays, or is a count away."""
    lower, upper = fact.data["bounds"][:2]
    if isinstance(lower, Data) and isinstance(upper, Data) and upper.node.operation == "+":
        apart = [it for it in upper.node.inputs if it is not lower.node]
        if len(apart) < len(upper.node.inputs):
            return any(map(counts, apart))
    return bool(loops(lower) ^ loops(upper))


def loops(bound: object) -> frozenset[object]:
    """The loops of Python's with which a bound moves."""
    return frozenset(loops_of(bound.node)) if isinstance(bound, Data) else frozenset()


def _growing_lists(facts: SourceFacts) -> dict[ast.AST | None, set[ast.AST]]:
    """Lists, by the syntax that makes them, with the loops in which they only grow."""
    found: dict[ast.AST | None, set[ast.AST]] = {}
    shrinking: set[ast.AST | None] = set()
    for change in facts.events(Mutation):
        target = change.target
        if not isinstance(target, Sequence) or target.syntax is None:
            continue
        if change.how in ("append", "extend"):
            made = _loops_called_in(target.made_in)
            for loop in _all_loops_around(change):
                is_written = isinstance(target.syntax, ast.expr) and holds(loop, target.syntax)
                if loop not in made and not is_written:
                    found.setdefault(target.syntax, set()).add(loop)
        else:
            shrinking.add(target.syntax)
    return {syntax: around for syntax, around in found.items() if syntax not in shrinking}


def _all_loops_around(event: Event) -> set[ast.stmt | ast.expr]:
    """The loops around an event, of its function and of those that call it."""
    return {*loops_around(event.frame, event.syntax), *_loops_called_in(event.frame)}


def _loops_called_in(frame: Frame | None) -> set[ast.stmt | ast.expr]:
    """The loops in whose turns a function is called."""
    region = frame.region if frame is not None else None
    around = region.chain() if region is not None else ()
    return {it.details["syntax"] for it in around if it.kind == "loop" and "syntax" in it.details}


def another_shape(applied: Applied, growing: dict[Node, str]) -> str | None:
    """An argument whose shape is another one in each turn."""
    for _, value in ordinary_arguments(applied):
        for leaf in leaves(value):
            what = _grown(leaf.node, growing)
            if what is None:
                continue
            around = [loop for loop in loops_of(leaf.node) if surrounds(loop, applied)]
            if any(map(has_many_turns, around)) and not _is_shared(applied, around):
                return what
    return None


def _is_shared(applied: Applied, loops: list[Region]) -> bool:
    """Whether a loop further inside calls the function many times before these go on."""
    within = takewhile(lambda it: it not in loops, applied.region.chain())
    return any(it.kind == "loop" and has_many_turns(it) for it in within)


def _grown(node: Node, growing: dict[Node, str], depth: int = 0) -> str | None:
    found = growing.get(node)
    if found is None and node.operation in _KEEPS and depth < 4:
        inner = (_grown(it, growing, depth + 1) for it in node.inputs)
        return next((it for it in inner if it is not None), None)
    return found


def another_static(applied: Applied) -> str:
    """A static argument that is another number in each turn."""
    for name, value in static_arguments(applied):
        if not isinstance(value, Data) or value.traced or not counts(value.node):
            continue
        around = [loop for loop in loops_of(value.node) if surrounds(loop, applied)]
        outside = [loop for loop in around if not is_made_inside(applied.transformed, loop)]
        if any(map(has_many_turns, outside)):
            return name
    return ""


def another_function(facts: SourceFacts, applied: Applied) -> Place | None:
    """Where a loop makes the function under the transformation anew in each turn."""
    transformed = applied.transformed
    around = [it for it in applied.region.chain() if it.kind == "loop"]
    inside = [it for it in around if is_made_inside(transformed, it) and has_many_turns(it)]
    inside = [it for it in inside if not _is_left_after(it.details["syntax"], applied.syntax)]
    function = innermost_function(transformed.function)
    if not inside or function is None:
        return None
    inside = [it for it in inside if not _is_a_run_of_its_own(facts, applied, it)]
    for loop in inside:
        syntax: ast.AST = loop.details["syntax"]
        is_written_inside = any(node is function.syntax for node in walked(syntax))
        of_call = function.frame.region
        is_fresh = (
            is_written_inside
            or _is_new(transformed.function, loop)
            or (of_call is not None and loop in of_call.chain())
        )
        if is_fresh and _is_near(applied, syntax) and not _depends_on(facts, applied, loop):
            return _made_at(applied)
    return None


def _is_left_after(loop: ast.AST, call: ast.AST) -> bool:
    """Whether a loop tries something until it succeeds: after the call, it is left."""
    owner: ast.AST | None = loop
    while owner is not None:
        block: list[ast.stmt] = getattr(owner, "body", None) or []
        around = [it for it in block if any(node is call for node in walked(it))]
        if around and isinstance(block[-1], (ast.Break, ast.Return)):
            return True
        owner = around[0] if around and isinstance(around[0], _BLOCKS) else None
    return False


def _is_a_run_of_its_own(facts: SourceFacts, applied: Applied, loop: Region) -> bool:
    """Whether each turn calls a function that makes the other one for a loop inside of it."""
    parts = set(map(id, walked(body_of(applied.transformed.frame))))
    if id(loop.details["syntax"]) in parts:
        return False
    calls = [it for it in facts.events(Applied) if it.transformed is applied.transformed]
    own = [
        region.details["syntax"]
        for it in calls
        for region in takewhile(lambda outer: outer is not loop, it.region.chain())
        if region.kind == "loop" and has_many_turns(region)
    ]
    return any(id(it) in parts for it in own)


def _is_new(function: Value, loop: Region) -> bool:
    """Whether what is jitted is another object in each turn, be it of one and the same function.

    JAX knows a function again by its identity, which a partial, a method that is taken from its
    object, and the result of a transformation do not have.
    """
    if isinstance(function, Transformed):
        return is_made_inside(function, loop)
    return isinstance(function, (Partial, Bound))


def _made_at(applied: Applied) -> Place:
    """Where the function that also makes the call applies the transformation, or has it applied."""
    around = set(applied.frame.callers())
    syntax: ast.AST | None = applied.transformed.syntax
    for frame in applied.transformed.frame.callers():
        if frame in around and syntax is not None:
            return frame.place(syntax)
        syntax = frame.called_at
    return applied.place


def _is_near(applied: Applied, loop: ast.AST) -> bool:
    """Whether the loop is in the function that makes the call, or in its caller.

    On longer ways it depends on too much whether a program takes them.
    """
    near = list(applied.frame.callers())[:2]
    return any(node is loop for frame in near for node in walked(body_of(frame)))


def _depends_on(facts: SourceFacts, applied: Applied, loop: object) -> bool:
    """Whether a function needs to be another one in each turn, for what it closes over."""
    function = applied.transformed.function
    given = [*function.args, *function.keywords.values()] if isinstance(function, Partial) else []
    if isinstance(function, Function):
        # `lambda x, size=size: …` closes over what it has at that moment.
        given += [*function.defaults, *function.keyword_defaults.values()]
    for fact in facts.events(Fact):
        if fact.kind == "captured" and fact.data["transformed"] is applied.transformed:
            given += [capture.value for capture in fact.data["captures"]]
    for value in given:
        if isinstance(value, Constant):
            continue
        for leaf in leaves(value):
            # What is an array could be an argument as well.
            is_needed = not counts(leaf.node) and not is_certain_array(leaf)
            if loop in leaf.node.varies and is_needed:
                return True
    return False
