"""Functions that work element by element, by the names under which NumPy has them.

To know which these are takes no NumPy, which takes longer to load than a file to audit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from ...events import Fact
from ...graph import Node
from ...operations import SUMS
from ...values import Constant, Data, Value
from ..nodes import names_axis

# NumPy's name, or what makes the result with NumPy from the operands.
Recipe = str | Callable[..., Any]


def _named(names: str, modules: Sequence[str]) -> dict[str, Recipe]:
    return {f"{module}.{it}": it for it in names.split() for module in modules}


def _sigmoid(np: Any, x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


ELEMENTWISE: dict[str, Recipe] = {
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "/": "divide",
    "**": "power",
    "-x": "negative",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
    **_named(
        "sin cos tan tanh sinh cosh exp log sqrt abs square sign log1p expm1",
        ("jax.numpy", "jax.lax"),
    ),
    **_named(
        "add subtract multiply divide power negative arctan arcsin arccos arctan2 arcsinh "
        "maximum minimum where logaddexp reciprocal exp2 log2 log10 zeros_like ones_like",
        ("jax.numpy",),
    ),
    "jax.lax.rsqrt": lambda np, x: 1 / np.sqrt(x),
    "jax.lax.neg": "negative",
    "jax.lax.integer_pow": "power",
    "jax.nn.sigmoid": _sigmoid,
    "jax.lax.logistic": _sigmoid,
    "jax.scipy.special.expit": _sigmoid,
    "jax.nn.softplus": lambda np, x: np.logaddexp(x, 0.0),
    "jax.nn.relu": lambda np, x: np.maximum(x, 0.0),
    "jax.nn.silu": lambda np, x: x * _sigmoid(np, x),
    "jax.nn.log_sigmoid": lambda np, x: -np.logaddexp(-x, 0.0),
}


def summed(result: Value) -> Value:
    """What is added up to one number, each part of which has the slope of its own element."""
    node = result.node if isinstance(result, Data) else None
    is_total = node is not None and node.operation in SUMS and names_axis(node) is False
    return node.operands[0] if node is not None and is_total and node.operands else result


def has_slopes(fact: Fact) -> bool:
    """Whether the run of a custom derivative is of a function whose slope can be computed."""
    given = [it.node for it in fact.data["arguments"] if isinstance(it, Data)]
    return is_elementwise(summed(fact.data["result"]), given)


def is_elementwise(value: Value, given: Collection[Node]) -> bool:
    """Whether nothing but such functions lies between a value and what it is given."""
    known = set(given)
    pending = [value]
    while pending:
        it = pending.pop()
        if isinstance(it, Data):
            node = it.node
            if node in known or node.operation == "parameter":
                continue
            known.add(node)
            if node.operation not in ELEMENTWISE or not node.operands:
                return False
            pending.extend(node.operands)
        elif not isinstance(it, Constant) or not isinstance(it.value, (int, float)):
            return False
    return True
