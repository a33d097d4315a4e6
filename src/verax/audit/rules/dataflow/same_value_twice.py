"""The smaller or larger of two values that are one, and two that are one joined."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Evidence, Finding, Place, Severity
from ...source.operations import FILLED, MAXIMA, MINIMA, RANGES, SELECTIONS, bare
from ...source.queries.lost.dropped import dropped_values
from ...source.queries.lost.unread_siblings import doubled
from ...source.queries.nodes import nodes_apart, nodes_by
from ...source.queries.sameness import Sameness
from ...source.queries.surroundings import Context
from ...source.values import Data
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.graph import Node

_CHOICES = MINIMA | MAXIMA
# What is outside of the project, and known to give the same for the same.
_PURE = ("jax.", "numpy.")
_PURE_METHODS = frozenset(("apply", "apply_fn"))
_TRIVIAL = bare(FILLED | RANGES)


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Choices between two values that are made in the same way from the same things."""
    yield from _written_twice(list(nodes_by(facts, _CHOICES | SELECTIONS)))
    yield from _in_place_of_another(facts)
    choices = list(nodes_by(facts, _CHOICES))
    context = Context(facts) if choices else None
    same = Sameness(names=lambda node: _pure_name(context, node))
    for choice in choices:
        pair = _pair(choice)
        if pair is None or pair[0] is pair[1] or not same.are(*pair):
            continue
        name = choice.operation.rpartition(".")[2]
        first, second = nodes_apart(facts, *pair)
        if not second.file or first == second or choice.place is None:
            continue
        yield RULE.finding(
            second,
            current=f"this is the value of {first.line_from(second)} once more, computed from the "
            f"same things, and `{name}` chooses between the two",
            expected=f"`{name}` gets two values",
            fix="look which of the two was to be made from something else",
            evidence=(Evidence(f"`{name}` gets both here", choice.place),),
            engine=Engine.SOURCE,
        )


def _written_twice(choices: list[Node]) -> Iterator[Finding]:
    """Choices that name one thing twice: `jnp.minimum(q1, q1)`, `jnp.where(done, old, old)`."""
    told: set[Place] = set()
    for choice in choices:
        call, place = choice.syntax, choice.place
        sides = call.args[-2:] if isinstance(call, ast.Call) and not call.keywords else []
        if len(sides) != 2 or place is None or place in told:
            continue
        if not all(isinstance(it, (ast.Name, ast.Attribute, ast.Subscript)) for it in sides):
            continue
        if ast.unparse(sides[0]) == ast.unparse(sides[1]):
            told.add(place)
            name = choice.operation.rpartition(".")[2]
            yield RULE.finding(
                place,
                current=f"`{name}` chooses between `{ast.unparse(sides[0])}` and itself",
                expected=f"`{name}` gets two values",
                fix="look which of the two was to be another one",
                engine=Engine.SOURCE,
            )


def _in_place_of_another(facts: SourceFacts) -> Iterator[Finding]:
    """Uses of one thing for two, where another that came with it is unread."""
    found = doubled(facts)
    # That an input is lost with it is told at the same place.
    told = {it.name for it in dropped_values(facts)} if found else ()
    for it in found:
        if it.unread in told:
            continue
        yield RULE.finding(
            it.place,
            current=f"`{it.name}` is used for two here, and `{it.unread}`, which comes with it, is "
            "read by nobody",
            expected="each of the two takes part",
            fix=f"look whether `{it.unread}` was meant in one of the places",
            engine=Engine.SOURCE,
        )


def _pure_name(context: Context | None, node: Node) -> str:
    """The name of what makes a node, unless that may make another thing each time.

    `nnx.Linear(3, 1, rngs=rngs)` twice makes two layers, and `next(items)` gives two items.
    """
    name = context.name(node) if context is not None else ""
    is_pure = name.startswith(_PURE) or name.rpartition(".")[2] in _PURE_METHODS
    return name if is_pure else ""


def _pair(choice: Node) -> tuple[Node, Node] | None:
    """The two values that are chosen from, if both are computed."""
    sides = [it.node for it in choice.operands if isinstance(it, Data)]
    if len(sides) != 2 or any(_is_trivial(it) for it in sides):
        return None
    one, other = sides
    # Where the same parts of two values are chosen from, the values tell more.
    while (
        one.operation == other.operation == "item"
        and one.label == other.label
        and one.inputs[0] is not other.inputs[0]
    ):
        one, other = one.inputs[0], other.inputs[0]
    return one, other


def _is_trivial(node: Node) -> bool:
    return not node.inputs or node.operation.rpartition(".")[2] in _TRIVIAL


RULE = Rule(
    code="DF108",
    name="same-value-twice",
    title="A choice between a value and itself",
    family="dataflow",
    severity=Severity.CRITICAL,
    explanation="""\
The smaller of two estimates is taken because they are two: of twin critics, of two bounds. If both
are computed from the same parameters, `jnp.minimum(q1, q2)` is `q1`, and the second network is
never used. It happens where a line is copied and changed in one place less than needed.

Reported where both sides of `minimum` or `maximum` are computed in the same way from the same
things, or where these, or `where`, are given one name twice; and where one name is joined with
itself, handed to two parameters, scaled and added, or goes twice through a function, while a value
that came with it and is made in the same way is read by nobody.""",
    wrong="""\
import jax.numpy as jnp


def critic(w, x):
    return jnp.tanh(x @ w)


def entry(params, x):
    first = critic(params["one"], x)
    second = critic(params["one"], x)
    return jnp.minimum(first, second)


def inputs():
    return {"one": jnp.ones(3), "two": jnp.ones(3)}, jnp.ones((4, 3))
""",
    right="""\
import jax.numpy as jnp


def critic(w, x):
    return jnp.tanh(x @ w)


def entry(params, x):
    first = critic(params["one"], x)
    second = critic(params["two"], x)
    return jnp.minimum(first, second)


def inputs():
    return {"one": jnp.ones(3), "two": jnp.ones(3)}, jnp.ones((4, 3))
""",
    source=check_source,
)
