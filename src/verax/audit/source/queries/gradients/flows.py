"""Where gradients flow: from which differentiated arguments to which values, and what stops them.

For every differentiated function two things are known of each value inside: the parameters on
which it depends at all, and those that reach it by a path of operations that have a derivative.
Where the two differ, something on the way has none: `stop_gradient`, rounding, an index, a
comparison. What is not known counts as differentiable, and so does a function with a derivative of
its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ...events import Applied
from ...graph import Node
from ...library.options import DERIVATIVES, argument_numbers
from ...operations import LIKES
from ...remember import remembered
from ...text import text_of
from ...values import Constant, Data, Instance, Mapping, Sequence, Value, leaves, nodes_of
from ..sameness import Sameness
from ..surroundings import Context
from .flatness import STOPPED, flat, flat_argument, flat_draw, flat_part, is_integer

if TYPE_CHECKING:
    from ...facts import SourceFacts

# Made from nothing, they are constants; what is drawn stands for data.
_CONSTANTS = ("jax.numpy.", "numpy.", "counter")
_DRAWN = ("numpy.random.",)
_WITH_FLAT_ARGUMENTS = frozenset(("call", "jax.random.choice"))
# What objects are asked for, of which the call knows the class.
_CHOSEN = frozenset((".sample", ".mode"))
_DRAWN_WITH_SCORE = ".sample_and_log_prob"
_NOT_VALUES = frozenset(("static", "format", "is", "in", "not", "len", "treedef", "size", "key"))


@dataclass(frozen=True, eq=False)
class Parameter:
    """A differentiated argument, or a part of one that is taken by name."""

    node: Node
    bit: int


class Flow:
    """The flow of gradients in one differentiated function."""

    def __init__(self, event: Applied, context: Context):
        self.event = event
        self.context = context
        self.same: Sameness = Sameness()
        self.results: list[Node] = _loss_nodes(event)
        self.primals: set[Node] = set(primal_nodes(event))
        # Every node that the results are made from, sources first.
        self.order: list[Node] = []
        self.is_certain = True
        self._walk()
        self.parameters: list[Parameter] = []
        self.depends: dict[Node, int] = {}
        self.flows: dict[Node, int] = {}
        self._name_parameters()
        self._spread()

    def _walk(self) -> None:
        seen: set[Node] = set()
        pending: list[tuple[Node, bool]] = [(node, False) for node in self.results]
        while pending:
            node, done = pending.pop()
            if done:
                self.order.append(node)
                continue
            if node in seen:
                continue
            seen.add(node)
            if node in self.context.uncertain or (
                node.operation == "call" and node not in self.context.calls
            ):
                self.is_certain: bool = False
            pending.append((node, True))
            if node not in self.primals:
                pending += [(it, False) for it in self.sources(node) if it not in seen]

    def sources(self, node: Node) -> tuple[Node, ...]:
        """What a value is made from, also in the turn before of a loop in the function."""
        if node.operation in LIKES:
            # Of what it is like, it has nothing but the shape.
            return tuple(it for given in node.operands[1:] for it in nodes_of(given))
        back = self.context.turns.get(node)
        if back is None or self._is_around(node):
            return node.inputs
        return (*node.inputs, *back)

    def _is_around(self, carry: Node) -> bool:
        """Whether a carry is that of a loop in which the derivative itself is taken."""
        own = carry.varies.difference(*(it.varies for it in carry.inputs))
        return not own.isdisjoint(self.event.region.chain())

    def _name_parameters(self) -> None:
        parts: set[Node] = set()
        for node in self.order:
            if node in self.primals or (_is_part(node) and node.inputs[0] in parts):
                parts.add(node)
        # A tree of which only parts are used is no parameter itself.
        users: set[Node] = set(self.results)
        for node in self.order:
            if node not in parts:
                users.update(self.sources(node))
        for node in self.order:
            if node in parts and node in users and not is_integer(node):
                self.parameters.append(Parameter(node, 1 << len(self.parameters)))
        self._parts = parts
        for it in self.parameters:
            self.depends[it.node] = self.flows[it.node] = it.bit

    def _spread(self) -> None:
        depends, flows = self.depends, self.flows
        for _ in range(4):
            changed = False
            for node in self.order:
                if node in self._parts or node.operation in _NOT_VALUES:
                    continue
                used = got = 0
                for source in self.sources(node):
                    used |= depends.get(source, 0)
                    through = flows.get(source, 0)
                    if through and self.blocker(source, node) is None:
                        got |= through
                if used != depends.get(node, 0) or got != flows.get(node, 0):
                    depends[node], flows[node] = used, got
                    changed = True
            if not changed:
                break

    def gets(self, node: Node) -> int:
        """The parameters that get a gradient from a value, as bits of a number."""
        return self.flows.get(node, 0)

    def uses(self, node: Node) -> int:
        """The parameters that a value depends on."""
        return self.depends.get(node, 0)

    def blocker(self, source: Node, target: Node) -> str | None:
        """Why no gradient flows along, if none does."""
        operation = target.operation
        if operation == "item" and target.inputs and source is not target.inputs[0]:
            return "an index"
        if operation == "cond" and source is target.inputs[0]:
            return "the condition of `cond`"
        reason = flat(target) or self._partly_flat(source, target)
        if reason is not None and self.context.is_custom(target):
            return None
        return reason

    def _partly_flat(self, source: Node, target: Node) -> str | None:
        """Why an argument or a result has no derivative, where others of a function have."""
        operation = target.operation
        if operation in _WITH_FLAT_ARGUMENTS:
            return flat_argument(self.context.calls.get(target), source)
        if operation in _CHOSEN:
            return flat_draw(self.context.name(target))
        if operation != "item" or not target.inputs:
            return None
        if source.operation == _DRAWN_WITH_SCORE:
            method = self.context.name(source).removesuffix("_and_log_prob")
            return flat_draw(method) if target.label == "0" else None
        return flat_part(target)

    @cached_property
    def data(self) -> frozenset[Node]:
        """The values that depend on more than parameters and constants."""
        found: set[Node] = set()
        for node in self.order:
            if node in self._parts:
                continue
            if not self.sources(node):
                if not node.operation.startswith(_CONSTANTS) or node.operation.startswith(_DRAWN):
                    found.add(node)
            elif any(source in found for source in self.sources(node)):
                found.add(node)
        return frozenset(found)

    def is_data(self, node: Node) -> bool:
        """Whether a value depends on more than parameters and constants."""
        return node in self.data

    def slice(
        self, nodes: list[Node], blocked: bool = False, stopped: bool = False
    ) -> frozenset[Node]:
        """All that values are made from, along differentiable paths or along all.

        With `stopped`, also behind `stop_gradient`, and behind nothing else without a derivative.
        """
        through = (None, STOPPED) if stopped else (None,)
        found: set[Node] = set()
        pending = list(nodes)
        while pending:
            node = pending.pop()
            if node in found:
                continue
            found.add(node)
            if node in self._parts:
                continue
            for source in self.sources(node):
                if source not in found and (blocked or self.blocker(source, node) in through):
                    pending.append(source)
        return frozenset(found)

    @cached_property
    def trained_through(self) -> frozenset[Node]:
        """The values through which a gradient comes back from the results."""
        return self.slice(self.results)

    def without_gradient(self) -> list[Parameter]:
        """Parameters on which the results depend, but only by paths without a derivative."""
        got = used = 0
        for result in self.results:
            got |= self.gets(result)
            used |= self.uses(result)
        return [it for it in self.parameters if it.bit & used and not it.bit & got]

    def blockers(self, bits: int, nodes: list[Node] | None = None) -> list[tuple[Node, str]]:
        """Where values, or the results, lose the gradient of parameters, in order of the program.

        A stop beside which the gradient flows on, as in a softmax, loses nothing.
        """
        found: dict[Node, str] = {}
        pending = list(self.results if nodes is None else nodes)
        seen = set(pending)
        while pending:
            node = pending.pop()
            if self.gets(node) & bits:
                continue
            for source in self.sources(node) if self.uses(node) & bits else ():
                reason = self.blocker(source, node) if self.gets(source) & bits else None
                if reason is not None:
                    found.setdefault(node, reason)
                elif source not in seen:
                    seen.add(source)
                    pending.append(source)
        return [(node, found[node]) for node in self.order if node in found]

    def name(self, node: Node) -> str:
        """What to call a parameter: `params['w']`."""
        known = self._names.get(node)
        if known is not None:
            return known
        if node.operation == "item" and node.inputs and node.label:
            return f"{self.name(node.inputs[0])}[{node.label}]"
        if node.operation == "field" and node.inputs:
            return f"{self.name(node.inputs[0])}.{node.label}"
        made = node.inputs[0].syntax if node.operation == "primal" and node.inputs else None
        return node.label or (text_of(made) if made is not None else "the argument")

    @cached_property
    def _names(self) -> dict[Node, str]:
        return {
            node: name for key, it in self.event.inner.items() for name, node in _paths(key, it)
        }


@remembered
def flows(facts: SourceFacts) -> list[Flow]:
    """The flow of gradients in every differentiated function of a program."""
    context = Context(facts)
    kinds = DERIVATIVES | {"vjp", "jvp"}
    events = [it for it in facts.events(Applied) if it.transformed.kind in kinds]
    return [Flow(event, context) for event in events]


def loss_of(event: Applied) -> Value:
    """What a differentiated function returns without its auxiliary part."""
    aux = event.transformed.options.get("has_aux")
    if aux is not None and not (isinstance(aux, Constant) and aux.value is False):
        result = event.result
        if isinstance(result, Sequence) and result.items:
            return result.items[0]
    return event.result


def _loss_nodes(event: Applied) -> list[Node]:
    return nodes_of(loss_of(event))


def primal_nodes(event: Applied) -> Iterator[Node]:
    """The differentiated arguments, inside of the function."""
    for _, node in primals(event):
        yield node


def primals(event: Applied) -> Iterator[tuple[Data, Node]]:
    """The leaves of the differentiated arguments, each with what it is inside of the function."""
    if event.transformed.kind in ("vjp", "jvp"):
        numbers: list[int] = list(range(len(event.args)))
    else:
        numbers = argument_numbers(event.transformed) or []
    for number in numbers:
        if not -len(event.args) <= number < len(event.args):
            continue
        for leaf in leaves(event.args[number]):
            found = (leaf.node.children or {}).get(("primal", event.region))
            if found is not None:
                yield leaf, found


def _is_part(node: Node) -> bool:
    """Whether a node is a part of a tree, by a name or a number that is written down."""
    if node.operation == "field":
        return bool(node.inputs)
    if node.operation != "item" or len(node.inputs) != 1 or not node.label:
        return False
    # Of an array, or by `None`, it is the same numbers in another shape, or some of them.
    return node.label not in ("None", "Ellipsis") and not node.inputs[0].shape


def _paths(name: str, value: Value, depth: int = 0) -> Iterator[tuple[str, Node]]:
    """The nodes in a value, each with how it is reached from a name."""
    if isinstance(value, Data):
        yield name, value.node
    elif depth < 4 and isinstance(value, Mapping):
        for key, item in value.items.items():
            yield from _paths(f"{name}[{key!r}]", item, depth + 1)
    elif depth < 4 and isinstance(value, Sequence) and value.items is not None:
        fields = list(value.type.fields) if value.type is not None else []
        for number, item in enumerate(value.items):
            part = f".{fields[number]}" if number < len(fields) else f"[{number}]"
            yield from _paths(name + part, item, depth + 1)
    elif depth < 4 and isinstance(value, Instance):
        yield name, value.node
        for key, item in value.attributes.items():
            yield from _paths(f"{name}.{key}", item, depth + 1)
