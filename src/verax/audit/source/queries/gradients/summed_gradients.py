"""Gradients that are added up over replicas, and what they are the gradients of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....finding import Place
from ...events import Applied, Fact
from ...graph import Node, sources
from ...operations import AVERAGES
from ...values import Data, Sequence, Value, leaves, nodes_of
from ..boundaries import GRADIENTS
from ..numbers.meaning import first_behind

if TYPE_CHECKING:
    from ...facts import SourceFacts

_QUOTIENTS = frozenset(("/", "call", "jax.lax.psum", "jax.lax.axis_size", "jax.numpy.reciprocal"))
# They keep a mean what it is, up to its sign or a fixed weight.
_SCALES = frozenset(("-x", "*"))


@dataclass(frozen=True)
class Summed:
    """A sum over replicas of gradients, and what shows that a mean was meant."""

    fact: Fact
    evidence: list[tuple[str, Place]]


def summed_gradients(facts: SourceFacts) -> Iterator[Summed]:
    """Sums of gradients of means, of which nothing is divided again."""
    collectives = [it for it in facts.events(Fact) if it.kind == "collective" and it.data["axes"]]
    sums = [it for it in collectives if it.data["name"] == "psum"]
    losses = _losses(facts) if sums else {}
    for fact in sums:
        for leaf in leaves(fact.data["value"]):
            loss = losses.get(leaf.node)
            mean = None if loss is None else _mean_behind(loss)
            if loss is None or mean is None or mean.place is None or _is_divided(fact):
                continue
            evidence = [("the mean is taken here", mean.place)]
            evidence += [
                ("the loss itself is averaged", it.place)
                for it in collectives
                if it.data["name"] == "pmean" and loss in nodes_of(it.data["value"])
            ]
            yield Summed(fact, evidence)
            break


def _losses(facts: SourceFacts) -> dict[Node, Node]:
    """What each gradient is the gradient of."""
    found: dict[Node, Node] = {}
    for applied in facts.events(Applied):
        if applied.transformed.kind not in GRADIENTS:
            continue
        loss = _first(applied.result)
        if isinstance(loss, Data):
            gradients = (it for it in nodes_of(applied.outside) if it.operation == "gradient")
            found.update(dict.fromkeys(gradients, loss.node))
    return found


def _first(result: Value) -> Value:
    """A loss, without what is returned next to it."""
    return result.items[0] if isinstance(result, Sequence) and result.items else result


def _mean_behind(node: Node) -> Node | None:
    """The mean that a loss is, past signs and weights."""
    for _ in range(6):
        found = first_behind(node, lambda it: it.operation in AVERAGES)
        if found is not None:
            return found if found.shape == () else None
        if node.operation not in _SCALES or len(node.inputs) != 1:
            return None
        node = node.inputs[0]
    return None


def _is_divided(fact: Fact) -> bool:
    """Whether something divides the sum, or multiplies it by a quotient."""
    sums = set(nodes_of(fact.data["result"]))
    returned = [value for frame in fact.frame.callers() for _, value in frame.returns]
    for node in sources(it for value in returned for it in nodes_of(value)):
        others = [it for it in node.inputs if it not in sums]
        if len(others) == len(node.inputs):
            continue
        if node.operation == "/" or (node.operation == "*" and any(map(_is_quotient, others))):
            return True
    return False


def _is_quotient(node: Node) -> bool:
    return any(it.operation in _QUOTIENTS for it in node.ancestors())
