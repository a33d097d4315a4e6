"""Which operations have a derivative that is zero everywhere, or none at all."""

from __future__ import annotations

from ...graph import Node

STOP = "jax.lax.stop_gradient"
STOPPED = "stop_gradient"
# Their derivative is zero wherever it exists, or they give integers.
_FLAT_FUNCTIONS = frozenset(
    "argmax argmin argsort argwhere argpartition nanargmax nanargmin round rint floor ceil trunc "
    "fix sign floor_divide heaviside searchsorted digitize count_nonzero nonzero flatnonzero "
    "isnan isinf isfinite isclose allclose greater greater_equal less less_equal equal not_equal "
    "logical_and logical_or logical_not logical_xor any all signbit eq ne lt le gt ge".split()
)
_FLAT_OPERATIONS = {
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), "a comparison"),
    **dict.fromkeys(("~x", "<<", ">>"), "an operation on bits"),
    "//": "a division without remainder",
    "builtins.int": "`int`",
    "builtins.float": "`float`, which gives a number of Python's",
    "builtins.bool": "`bool`",
    "builtins.round": "`round`",
    "item()": "`.item()`, which gives a number of Python's",
    STOP: STOPPED,
}
_DRAWS = frozenset("categorical bernoulli randint poisson binomial geometric".split())
_MODULES = ("jax.numpy", "jax.lax", "jax.nn", "ndarray", "numpy")


def flat(node: Node) -> str | None:
    """Why an operation has no derivative, or one that is zero everywhere."""
    operation = node.operation
    found = _FLAT_OPERATIONS.get(operation)
    if found is not None:
        return found
    module, _, name = operation.rpartition(".")
    if name in _FLAT_FUNCTIONS and module in _MODULES:
        return f"`{name}`"
    if module == "jax.random" and name in _DRAWS:
        return f"a draw by `{name}`"
    if is_integer(node):
        return "a cast to integers" if name in ("astype", "asarray", "array") else "an integer"
    return None


def is_integer(node: Node) -> bool:
    """Whether a value is known to be made of integers or truth values."""
    return node.dtype is not None and node.dtype.startswith(("int", "uint", "bool"))
