"""What the graph of values does not say: who made a value, and what comes from the turn before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..events import Call, Loop
from ..graph import Node
from ..values import Bound, Data, Function, Partial, Transformed, nodes_of

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

    def _connect(self, loop: Loop) -> None:
        """A carry comes from the turn before."""
        if loop.carry_in is None or loop.carry_out is None:
            return
        entering, leaving = nodes_of(loop.carry_in), nodes_of(loop.carry_out)
        for number, node in enumerate(entering):
            same = len(entering) == len(leaving)
            self.turns[node] = [leaving[number]] if same else leaving

    def is_custom(self, node: Node) -> bool:
        """Whether a node is made by a function that has a derivative of its own."""
        region = node.frame.region if node.frame is not None else None
        return region is not None and any(it.kind in _CUSTOM for it in region.chain())

    def name(self, node: Node) -> str:
        """The full name of the function outside of the project that makes a node."""
        call = self.calls.get(node)
        return call.name if call is not None else ""
