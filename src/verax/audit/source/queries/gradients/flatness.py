"""Which operations have a derivative that is zero everywhere, or none at all."""

from __future__ import annotations

from ...events import Call
from ...graph import Node
from ...operations import MODULES
from ...values import Constant, Value, nodes_of
from ..arrays import argument

STOP = "jax.lax.stop_gradient"
STOPPED = "stop_gradient"
# Their derivative is zero wherever it exists, or they give integers.
_FLAT_FUNCTIONS = frozenset(
    "argmax argmin argsort argwhere argpartition nanargmax nanargmin round rint floor ceil trunc "
    "fix sign floor_divide heaviside searchsorted digitize count_nonzero nonzero flatnonzero "
    "isnan isinf isfinite isclose allclose greater greater_equal less less_equal equal not_equal "
    "logical_and logical_or logical_xor any all signbit eq ne lt le gt ge".split()
)
_FLAT_OPERATIONS = {
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), "a comparison"),
    **dict.fromkeys(("<<", ">>"), "an operation on bits"),
    "~x": "a negation of flags or bits",
    "//": "a division without remainder",
    "builtins.int": "`int`",
    "builtins.float": "`float`, which gives a number of Python's",
    "builtins.bool": "`bool`",
    "builtins.round": "`round`",
    "item()": "`.item()`, which gives a number of Python's",
    STOP: STOPPED,
}
_DRAWS = frozenset("categorical bernoulli randint poisson binomial geometric multinomial".split())
# Of several results, those that stay the same while the argument moves a little.
_FLAT_PARTS = {
    ("jax.numpy.histogram", "0"): "the counts of a histogram",
    ("jax.numpy.divmod", "0"): "a division without remainder",
    ("jax.numpy.modf", "1"): "the whole part of `modf`",
}
# Distributions over classes or whole numbers, by the names that libraries have for them.
_LIBRARIES = ("distrax.", "numpyro.distributions.", "tensorflow_probability.")
_DISCRETE = frozenset(
    f"{prefix}{name}{suffix}"
    for name in "Bernoulli Categorical Multinomial Poisson Binomial Geometric".split()
    for prefix in ("", "OneHot")
    for suffix in ("", "Logits", "Probs")
)
_CHOSEN = frozenset(("sample", "mode"))
_NEAREST = "jax.scipy.ndimage.map_coordinates"
_MODULES = (*MODULES, "numpy")


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


def flat_part(item: Node) -> str | None:
    """Why one of several results has no derivative, if what it is a part of has."""
    whole = item.inputs[0]
    reason = _FLAT_PARTS.get((whole.operation, item.label))
    # Weights count, and have a derivative.
    return reason if len(whole.inputs) == 1 else None


def flat_draw(method: str) -> str | None:
    """Why what a distribution gives has no derivative: `distrax.Bernoulli.sample`, say."""
    made_by, _, name = method.rpartition(".")
    is_discrete = made_by.rpartition(".")[2] in _DISCRETE and made_by.startswith(_LIBRARIES)
    return f"a draw by `{name}`" if is_discrete and name in _CHOSEN else None


def flat_argument(call: Call | None, source: Node) -> str | None:
    """Why an argument gets no gradient from what a function makes of it and of others."""
    if call is None:
        return None
    if call.name == "jax.random.choice":
        return "the chances of a draw" if _has(argument(call, 4, "p"), source) else None
    if call.name == _NEAREST:
        order = argument(call, 2, "order")
        is_nearest = isinstance(order, Constant) and order.value == 0
        is_place = is_nearest and _has(argument(call, 1, "coordinates"), source)
        return "the nearest element" if is_place else None
    return "ranks" if call.name == "jax.scipy.stats.rankdata" else None


def _has(value: Value | None, node: Node) -> bool:
    return value is not None and node in nodes_of(value)


def is_integer(node: Node) -> bool:
    """Whether a value is known to be made of integers or truth values."""
    return node.dtype is not None and node.dtype.startswith(("int", "uint", "bool"))
