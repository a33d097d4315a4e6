"""What the graph of values does not say: who made a value, and what comes from the turn before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..events import Call, Fact, Loop
from ..graph import Node
from ..operations import ZEROS
from ..values import Bound, Data, Function, Partial, Sequence, Transformed, Value, nodes_of

if TYPE_CHECKING:
    from ..facts import SourceFacts

_CUSTOM = frozenset(("custom_vjp", "custom_jvp", "custom_gradient"))
# They may hold values of which the graph knows nothing.
_CLOSURES = (Function, Partial, Bound, Transformed)


class Context:
    """What flows need to know of the whole program."""

    def __init__(self, facts: SourceFacts):
        self.calls: dict[Node, Call] = {}
        self.uncertain: set[Node] = set()
        self.turns: dict[Node, list[Node]] = {}
        for call in facts.events(Call):
            if isinstance(call.result, Data):
                self.calls[call.result.node] = call
                if call.result.node.operation == "call" or call.name.startswith("object."):
                    given = (*call.args, *call.keywords.values())
                    if any(isinstance(it, _CLOSURES) for it in given):
                        self.uncertain.add(call.result.node)
        for loop in facts.events(Loop):
            self._connect(loop)
        runs = [it for it in facts.events(Fact) if it.kind == "derivative run"]
        self._flat: set[object] = {_applied(it) for it in runs if _is_zero(it)}

    def _connect(self, loop: Loop) -> None:
        """A carry comes from the turn before."""
        if loop.carry_in is None or loop.carry_out is None:
            return
        entering, leaving = nodes_of(loop.carry_in), nodes_of(loop.carry_out)
        for number, node in enumerate(entering):
            same = len(entering) == len(leaving)
            self.turns[node] = [leaving[number]] if same else leaving

    def is_custom(self, node: Node) -> bool:
        """Whether a node is made by a function that has a derivative of its own, not just zero."""
        region = node.frame.region if node.frame is not None else None
        around = [it for it in region.chain() if it.kind in _CUSTOM] if region is not None else []
        return bool(around) and self._flat.isdisjoint(around)

    def name(self, node: Node) -> str:
        """The full name of the function outside of the project that makes a node."""
        call = self.calls.get(node)
        return call.name if call is not None else ""


def _applied(run: Fact) -> object:
    """The region in which a function was run whose rules a run is of."""
    return run.frame.region.details.get("applied") if run.frame.region is not None else None


def _is_zero(run: Fact) -> bool:
    """Whether a rule gives nothing but zeros: a step is as flat with it as without."""
    pair, backward = run.data.get("tangent"), run.data.get("backward")
    if isinstance(pair, Sequence) and pair.items is not None and len(pair.items) == 2:
        return is_zeros(pair.items[1])
    return isinstance(backward, Sequence) and all(map(is_zeros, backward.items or [backward]))


def is_zeros(value: Value) -> bool:
    """Whether a value is known to be nothing but zeros."""
    return isinstance(value, Data) and value.node.operation in ZEROS
