"""A reduction over leaves that takes the first of them for the total so far."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Finding, Severity
from ...source.events import Fact
from ...source.operations import MAXIMA, MINIMA, REDUCTIONS
from ...source.values import Data
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.values import Value

_ADDS = MINIMA | MAXIMA | {"+"}
_REDUCES = REDUCTIONS | {"vdot", "size"}


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Reductions without a start, whose function makes something of each leaf before it adds it."""
    for fact in facts.events(Fact):
        if fact.kind == "reduced" and _is_lopsided(**fact.data):
            yield RULE.finding(
                fact.place,
                current=f"`{fact.text}` has no start: the first leaf is taken for the total as it "
                "is, and only the others are reduced before they are added",
                expected="every leaf is treated alike",
                fix="give `jax.tree.reduce` the total that it starts from as its third argument",
                engine=Engine.SOURCE,
            )


def _is_lopsided(start: Value, leaf: Value, result: Value) -> bool:
    """Whether a total is added as it is to a reduction of a leaf."""
    if not (isinstance(start, Data) and isinstance(leaf, Data) and isinstance(result, Data)):
        return False
    given = result.node.operands
    # The sum of a number is the number.
    if result.node.operation not in _ADDS or len(given) != 2 or leaf.node.shape == ():
        return False
    nodes = [it.node for it in given if isinstance(it, Data)]
    others = [it for it in nodes if it is not start.node]
    if len(nodes) != 2 or len(others) != 1 or others[0].depends_on(start.node):
        return False
    made = set(others[0].ancestors())
    names = {it.operation.rpartition(".")[2] for it in made.difference(leaf.node.ancestors())}
    return leaf.node in made and not _REDUCES.isdisjoint(names)


RULE = Rule(
    code="PT108",
    name="first-leaf-taken-as-total",
    title="A reduction takes its first leaf for the total",
    family="pytree",
    severity=Severity.CRITICAL,
    explanation="""\
Without a start, `jax.tree.reduce` and `functools.reduce` begin with the first leaf itself. A
function like `lambda total, leaf: total + jnp.sum(leaf**2)` then adds numbers to an array that was
never squared or summed; if that is a scalar, or broadcasts, nothing complains.
""",
    wrong="""\
import jax
import jax.numpy as jnp

def entry(grads):
    return jax.tree.reduce(lambda total, leaf: total + jnp.sum(leaf**2), grads)

def inputs():
    return ({"b": jnp.ones(()), "w": jnp.ones((3, 2))},)
""",
    right="""\
import jax
import jax.numpy as jnp

def entry(grads):
    return jax.tree.reduce(lambda total, leaf: total + jnp.sum(leaf**2), grads, 0.0)

def inputs():
    return ({"b": jnp.ones(()), "w": jnp.ones((3, 2))},)
""",
    source=check_source,
)
