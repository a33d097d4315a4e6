"""The graph of values: what was made from what, where, and in which loops and maps it varies.

Every value that a program computes on arrays has a node. A node is an identity: reading the same
field of the same thing twice gives the same node, so that two uses of one random key are seen as
such, under whatever names. Boundaries of transformations keep the graph in one piece.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Container, Hashable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ..finding import Place
from .numbering import number_of
from .work import spend

if TYPE_CHECKING:
    from .frame import Frame, Region
    from .values import Value

NOWHERE: frozenset[Region] = frozenset()
# What a turn or a lane gets of something outside.
_SHARES = frozenset(("lane", "slice", "element", "turn", "carry", "copy"))


class Node:
    """A value of the program, by what makes it.

    `operation` is the full name of a function (`jax.numpy.sum`), an operator (`+`), or a way to
    come into being: `parameter`, `item`, `field`, `carry`, `slice`, `lane`, `join`, `call`.
    `region` is the innermost loop or transformation that it is made in; `varies` holds the loops
    and maps in which it is another value each time. `shape` and `dtype` are what is known of them
    by now; more may be learned later. `operands` are what an operation on arrays was given, in
    order and with its constants, of which `inputs` knows nothing.
    """

    __slots__ = (
        "children",
        "dtype",
        "frame",
        "has_told_shape",
        "inputs",
        "is_key",
        "label",
        "operands",
        "operation",
        "region",
        "shape",
        "syntax",
        "varies",
        "writes",
    )

    def __init__(
        self,
        operation: str,
        inputs: tuple[Node, ...] = (),
        syntax: ast.AST | None = None,
        frame: Frame | None = None,
        varies: frozenset[Region] = NOWHERE,
        label: str = "",
    ):
        self.operation: str = operation
        self.inputs: tuple[Node, ...] = inputs
        self.syntax: ast.AST | None = syntax
        self.frame: Frame | None = frame
        # A frame's region changes while it runs through a loop of Python's.
        self.region: Region | None = frame.region if frame is not None else None
        self.varies: frozenset[Region] = varies
        self.label: str = label
        self.shape: Any = None
        # Whether an annotation says so, and nothing that was computed.
        self.has_told_shape: bool = False
        self.dtype: str | None = None
        self.is_key: bool = False
        self.operands: tuple[Value, ...] = ()
        self.children: dict[Hashable, Node] | None = None
        # How often something was stored in it, if that is known.
        self.writes: int | None = 0

    def __repr__(self) -> str:
        return f"<{self.operation} {self.label or number_of(self)}>"

    @property
    def place(self) -> Place | None:
        """Where it is made."""
        if self.syntax is None or self.frame is None:
            return None
        return self.frame.place(self.syntax)

    def child(self, operation: str, key: Hashable, syntax: ast.AST, frame: Frame) -> Node:
        """A part of it: the same node whenever it is asked for by the same key."""
        if self.children is None:
            self.children = {}
        found = self.children.get((operation, key))
        if found is None:
            found = Node(operation, (self,), syntax, frame, self.varies, str(key))
            self.children[operation, key] = found
        return found

    def ancestors(self) -> Iterator[Node]:
        """This node and everything that it is made from."""
        seen: set[Node] = {self}
        pending: list[Node] = [self]
        while pending:
            node = pending.pop()
            spend()
            yield node
            for source in node.inputs:
                if source not in seen:
                    seen.add(source)
                    pending.append(source)

    def whole(self) -> Node:
        """What the turns of a loop or the lanes of a map go through or start from: often itself."""
        node = self
        while node.operation in _SHARES and node.inputs:
            node = node.inputs[0]
        return node

    def is_made_in(self, region: Region) -> bool:
        """Whether it is made inside of a loop or transformation."""
        around = self.region
        while around is not None:
            if around is region:
                return True
            around = around.outer
        return False

    def depends_on(self, other: Node) -> bool:
        """Whether it is made from another one."""
        return any(node is other for node in self.ancestors())


def sources(
    nodes: Iterable[Node],
    through: Callable[[Node], bool] | None = None,
    but: Container[Node] = (),
) -> set[Node]:
    """Some nodes and everything that they are made from, going on only `through` some of these.

    Nodes in `but` are known already, with all that they are made from.
    """
    pending = [it for it in nodes if it not in but]
    found = set(pending)
    for node in pending:
        if through is None or through(node):
            for it in node.inputs:
                if it not in found and it not in but:
                    found.add(it)
                    pending.append(it)
    spend(len(found))
    return found


def variation(nodes: Iterable[Node]) -> frozenset[Region]:
    """Where a value varies that is made from these."""
    found = NOWHERE
    for node in nodes:
        if node.varies is not found and node.varies:
            found = found | node.varies if found else node.varies
    return found
