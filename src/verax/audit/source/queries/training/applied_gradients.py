"""What gradients are applied to, against what they are the gradients of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....finding import Place
from ...events import Applied, Call, Event, Fact
from ...graph import Node, sources
from ...library.options import argument_numbers
from ...operations import ARITHMETIC
from ...values import Data, Mapping, Value, nodes_of
from ..boundaries import GRADIENTS
from ..gradients.flatness import is_integer
from ..gradients.flows import flows

if TYPE_CHECKING:
    from ...facts import SourceFacts

_OF_ARRAYS = ARITHMETIC | {"@"}


@dataclass(frozen=True, eq=False)
class Misapplied:
    """A gradient with respect to one argument that changes another; both by their number."""

    derivative: Applied
    differentiated: int
    changed: int
    at: Event

    @property
    def wanted_at(self) -> Place:
        """Where it is said with respect to what: by a number, or by the order of arguments."""
        transformed = self.derivative.transformed
        if "argnums" in transformed.options and len(argument_numbers(transformed) or ()) == 1:
            return transformed.frame.place(transformed.syntax)
        return self.derivative.place


def misapplied(facts: SourceFacts) -> Iterator[Misapplied]:
    """Gradients that change parameters with respect to which they were not taken."""
    made: dict[tuple[object, object], Applied] = {
        (it.syntax, it.frame): it
        for it in facts.events(Applied)
        if it.transformed.kind in GRADIENTS and not it.transformed.is_filtered
    }
    if not made:
        return
    for at, parameters, gradient in (*_by_optimisers(facts), *_by_maps(facts)):
        event = made.get((gradient.syntax, gradient.frame))
        number = _argument_of(event, gradient) if event is not None else None
        if event is None or number is None:
            continue
        changed = _other_argument(event, number, parameters)
        if changed is None or any(map(is_integer, nodes_of(event.args[number]))):
            continue
        if isinstance(at, Call) or _is_array_for_tree(facts, event, parameters):
            yield Misapplied(event, number, changed, at)


def _argument_of(event: Applied, gradient: Node) -> int | None:
    """The number of the argument with respect to which a gradient was taken."""
    numbers = argument_numbers(event.transformed) or []
    if len(numbers) == 1:
        return numbers[0]
    held = (it for it in numbers if 0 <= it < len(event.args))
    return next((it for it in held if gradient.inputs[0] in nodes_of(event.args[it])), None)


def _by_optimisers(facts: SourceFacts) -> Iterator[tuple[Event, Value, Node]]:
    """`params + updates`, and the gradient from which an optimiser made these."""
    updates = {
        it.result.node: it
        for it in facts.events(Call)
        if it.name.endswith(".update") and len(it.args) > 2 and isinstance(it.result, Data)
    }
    for call in facts.calls(("optax.apply_updates",)):
        changes = call.args[1] if len(call.args) > 1 else None
        if not isinstance(changes, Data) or changes.node.operation != "item":
            continue
        update = updates.get(changes.node.inputs[0])
        gradient = update.args[1] if update is not None else None
        for node in nodes_of(gradient)[:1] if gradient is not None else ():
            if node.operation == "gradient":
                yield call, call.args[0], node


def _by_maps(facts: SourceFacts) -> Iterator[tuple[Event, Value, Node]]:
    """`jax.tree.map(step, params, gradient)`."""
    for fact in facts.events(Fact):
        trees: list[Value] = fact.data["trees"] if fact.kind == "tree map" else []
        gradient = trees[1] if len(trees) == 2 else None
        if isinstance(gradient, Data) and gradient.node.operation == "gradient":
            yield fact, trees[0], gradient.node


def _other_argument(event: Applied, differentiated: int, parameters: Value) -> int | None:
    """Which argument the changed parameters are, if the differentiated one has no part of them."""
    wanted = set(nodes_of(parameters))
    if not wanted or not 0 <= differentiated < len(event.args):
        return None
    if not wanted.isdisjoint(sources(nodes_of(event.args[differentiated]), _is_no_update)):
        return None
    for number, argument in enumerate(event.args):
        if number != differentiated and wanted == set(nodes_of(argument)):
            return number
    return None


def _is_no_update(node: Node) -> bool:
    """Whether a value is made from others other than by learning from them, as a critic does."""
    return node.operation not in ("gradient", ".update")


def _is_array_for_tree(facts: SourceFacts, event: Applied, parameters: Value) -> bool:
    """Whether the gradient is of one array, and the parameters are a dict.

    Of one structure, they may well be meant: a momentum changes by the slope at a position.
    """
    is_dict = isinstance(parameters, Mapping) or any(
        child.operation == "item" and child.label.startswith(("'", '"'))
        for node in nodes_of(parameters)
        for child in (node.children or {}).values()
    )
    if not is_dict:
        return False
    flow = next((it for it in flows(facts) if it.event is event), None)
    return flow is not None and any(
        node.operation in _OF_ARRAYS and not flow.primals.isdisjoint(node.inputs)
        for node in flow.order
    )
