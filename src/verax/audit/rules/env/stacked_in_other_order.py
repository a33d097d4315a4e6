"""Arrays that are stacked by names in one order, and taken apart by names in another."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.graph import Node
from ...source.values import Data, Mapping, Sequence
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.events import Call
    from ...source.facts import SourceFacts
    from ...source.frame import Frame
    from ...source.values import Value


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Dicts of the rows of an array that was stacked from a dict with its names in other places."""
    stacks = [it for call in facts.calls(("jax.numpy.stack",)) for it in _order(call)]
    for frame, syntax, whole, names in _apart(facts) if stacks else ():
        behind = set(whole.ancestors())
        for call, stacked, order in stacks:
            if stacked in behind and set(order) == set(names) and order != names:
                yield RULE.finding(
                    frame.place(syntax),
                    current=f"the rows are called {', '.join(names)}, and were stacked in the "
                    f"order {', '.join(order)}: each of them gets what belongs to another",
                    expected="what is stacked by names is taken apart in the same order",
                    fix="go through the same sequence of names both times",
                    evidence=(Evidence("they are stacked here", call.place),),
                    engine=Engine.SOURCE,
                )
                break


def _order(call: Call) -> Iterator[tuple[Call, Node, list[str]]]:
    """The names of what is stacked, in order, if all of it is of one dict."""
    rows = call.args[0] if call.args else None
    if not isinstance(rows, Sequence) or not rows.items or not isinstance(call.result, Data):
        return
    nodes = [it.node for it in rows.items if isinstance(it, Data)]
    for value in (*call.frame.given.values(), *call.frame.environment.values()):
        if isinstance(value, Mapping) and len(nodes) == len(rows.items) > 1:
            names = {it.node: key for key, it in value.items.items() if isinstance(it, Data)}
            order = [names.get(node) for node in nodes]
            found = [it for it in order if isinstance(it, str)]
            if len(set(found)) == len(nodes):
                yield call, call.result.node, found
                return


def _apart(facts: SourceFacts) -> Iterator[tuple[Frame, ast.AST, Node, list[str]]]:
    """The dicts that hold all rows of an array by their numbers, with the names in this order."""
    for frame in facts.own_frames:
        for syntax, value in (*frame.steps, *frame.returns):
            # Who gets the dict from another function has nothing to do with its order.
            is_own = isinstance(value, Mapping) and value.made_in is frame
            rows = _rows(value) if is_own else dict[int, Node]()
            wholes = {node.inputs[0] for node in rows.values()}
            if len(rows) > 1 and len(wholes) == 1 and set(rows) == set(range(len(rows))):
                names = {node: name for name, node in _named(value)}
                yield frame, syntax, wholes.pop(), [names[rows[i]] for i in range(len(rows))]


def _rows(value: Value) -> dict[int, Node]:
    return {int(it.label): it for _, it in _named(value) if it.label.isdigit() and it.inputs}


def _named(value: Value) -> Iterator[tuple[str, Node]]:
    for name, part in value.items.items() if isinstance(value, Mapping) else ():
        if isinstance(name, str) and isinstance(part, Data) and part.node.operation == "item":
            yield name, part.node


RULE = Rule(
    code="EN022",
    name="stacked-in-other-order",
    title="Rows are taken apart in another order than they were stacked",
    family="env",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
Several agents share one network, so their observations are stacked, and what the network says is
taken apart again by their names. If one goes through the names as they are written and the other
through them sorted, every agent does what was meant for another; the shapes are the same.

Reported for a dict that holds all rows of an array by their numbers, when the array was made from a
stack of the values of another dict with the same names, and their order differs.""",
    wrong="""\
import jax.numpy as jnp

NAMES = ("wolf", "hare")


def act(w, obs):
    seen = {name: obs[name] for name in NAMES}
    moves = jnp.stack([seen[name] for name in NAMES]) @ w
    return {name: moves[i] for i, name in enumerate(sorted(NAMES))}


def entry(w, wolf, hare):
    return act(w, {"wolf": wolf, "hare": hare})


def inputs():
    return jnp.eye(3), jnp.ones(3), jnp.zeros(3)
""",
    right="""\
import jax.numpy as jnp

NAMES = ("wolf", "hare")


def act(w, obs):
    seen = {name: obs[name] for name in NAMES}
    moves = jnp.stack([seen[name] for name in NAMES]) @ w
    return {name: moves[i] for i, name in enumerate(NAMES)}


def entry(w, wolf, hare):
    return act(w, {"wolf": wolf, "hare": hare})


def inputs():
    return jnp.eye(3), jnp.ones(3), jnp.zeros(3)
""",
    source=check_source,
)
