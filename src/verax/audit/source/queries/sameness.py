"""When two values are the same computation: made by the same operations from the same values."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable

from ..graph import Node
from ..text import text_of
from ..values import Constant, External, Sequence, Value

# What comes into being by these is another value each time, or is the same by being the same node.
_OPAQUE = frozenset(
    "call parameter argument carry slice lane turn primal join next stack last counter object "
    "gradient leaf element yield with exception".split()
)
# So are the numbers of generators with a state of their own.
_DRAWN = ("numpy.random.", "random.", "secrets.")


class Sameness:
    """Numbers for nodes; those with the same number are equal.

    With `blind`, nodes for which it says yes all count as one: what remains is the shape of the
    computation around them. `names` tells apart calls of what is outside of the project.
    """

    def __init__(
        self,
        blind: Callable[[Node], bool] | None = None,
        names: Callable[[Node], str] | None = None,
    ):
        self._blind = blind
        self._names = names
        self._by_node: dict[Node, int] = {}
        self._by_making: dict[Hashable, int] = {}

    def are(self, one: Node, other: Node) -> bool:
        """Whether two nodes are certainly the same value."""
        return one is other or self.number(one) == self.number(other)

    def number(self, node: Node) -> int:
        """The number of a node."""
        pending = [node]
        while pending:
            current = pending[-1]
            if current in self._by_node:
                pending.pop()
                continue
            missing = [it for it in self._sources(current) if it not in self._by_node]
            if missing and len(pending) < 5000:
                pending += missing
                continue
            pending.pop()
            self._by_node[current] = self._making(current)
        return self._by_node[node]

    def _is_blind(self, node: Node) -> bool:
        return self._blind is not None and self._blind(node)

    def _name(self, node: Node) -> str | None:
        """What names the operation; `None` if nothing does."""
        operation = node.operation
        if operation.startswith(_DRAWN):
            return None
        if operation not in _OPAQUE and not operation.startswith("."):
            return operation
        if self._names is None:
            return None
        return self._names(node) or None

    def _sources(self, node: Node) -> tuple[Node, ...]:
        if self._is_blind(node) or self._name(node) is None:
            return ()
        return node.inputs

    def _making(self, node: Node) -> int:
        made = self._how(node)
        return self._by_making.setdefault(made, len(self._by_making))

    def _how(self, node: Node) -> Hashable:
        if self._is_blind(node):
            return ("any",)
        name = self._name(node)
        sources = tuple(self._by_node.get(it, -1) for it in node.inputs)
        if name is None or not sources or -1 in sources:
            return ("node", id(node))
        label = node.label if node.operation in ("item", "field", "static") else ""
        if node.operation == "item" and not label and not node.operands:
            # A slice or a mask: the same where it is written once, or in numbers.
            return ("item", _fixed_index(node.syntax) or id(node.syntax), sources)
        return (name, label, sources, tuple(_literal(it) for it in node.operands))


def _fixed_index(syntax: ast.AST | None) -> str:
    """The text of an index that holds only numbers; empty for others."""
    if not isinstance(syntax, ast.Subscript):
        return ""
    names = (ast.Name, ast.Attribute, ast.Call, ast.Starred)
    is_fixed = not any(isinstance(it, names) for it in ast.walk(syntax.slice))
    return text_of(syntax.slice) if is_fixed else ""


def _literal(value: Value) -> Hashable:
    """A constant operand; all others count by their nodes."""
    if isinstance(value, Constant):
        return (type(value.value).__name__, repr(value.value))
    if isinstance(value, Sequence) and value.items is not None:
        return tuple(_literal(it) for it in value.items)
    return value.name if isinstance(value, External) else None
