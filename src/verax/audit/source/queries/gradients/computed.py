"""Numbers for values that are made element by element, computed from the graph as NumPy would.

To import this module takes NumPy, and so longer than to audit a file: `elementwise` tells without
it what can be computed.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...graph import Node
from ...values import Constant, Data, Value
from .elementwise import ELEMENTWISE

Numbers = np.ndarray
POINTS = 12
_DEEPEST = 200


class Drawn:
    """Numbers for what a function is given, the same whenever they are asked for."""

    def __init__(self, seed: int):
        self._rng, self._seed = np.random.default_rng(seed), seed
        self._known: dict[Node, Numbers] = {}

    def numbers(self, node: Node) -> Numbers:
        """Those of one value."""
        if node not in self._known:
            # Every second time inside of the domain of logarithms and roots.
            rng = self._rng
            drawn = rng.uniform(0.2, 1.8, POINTS) if self._seed % 2 else rng.normal(size=POINTS)
            self._known[node] = drawn
        return self._known[node]


class Computation:
    """Numbers for values, each computed once; `None` for what cannot be computed."""

    def __init__(self, points: Mapping[Node, Numbers], drawn: Drawn):
        self._known: dict[Node, Numbers | None] = dict(points)
        self._drawn, self._depth = drawn, 0

    def of(self, value: Value) -> Numbers | None:
        """Those of a value, one a point."""
        if isinstance(value, Data):
            return self._of_node(value.node)
        number = value.value if isinstance(value, Constant) else None
        return np.full(POINTS, float(number)) if isinstance(number, (int, float)) else None

    def _of_node(self, node: Node) -> Numbers | None:
        if node not in self._known:
            self._known[node] = None  # until it is known: a loop comes back to itself
            self._depth += 1
            self._known[node] = self._made(node) if self._depth < _DEEPEST else None
            self._depth -= 1
        return self._known[node]

    def _made(self, node: Node) -> Numbers | None:
        if node.operation == "parameter":
            return self._drawn.numbers(node)
        recipe = ELEMENTWISE.get(node.operation)
        operands = [self.of(it) for it in node.operands]
        known = [it for it in operands if it is not None]
        if recipe is None or not operands or len(known) < len(operands):
            return None
        try:
            made = getattr(np, recipe)(*known) if isinstance(recipe, str) else recipe(np, *known)
            return np.asarray(made, dtype=float)
        except (TypeError, ValueError):  # It was given something else than its operands.
            return None
