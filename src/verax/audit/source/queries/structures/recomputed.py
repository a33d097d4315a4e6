"""Fields that a constructor computes once more when an object is put together again."""

from __future__ import annotations

from ...graph import Node
from ...operations import CASTS
from ...values import Data, Instance
from ..gradients.elementwise import is_elementwise

# They give back what they are given, in another form perhaps.
_HARMLESS = CASTS | {"numpy.asarray"}
# Done twice, they give something else than done once.
_OF_ONE = frozenset(
    f"{module}.{name}"
    for module, names in (
        (
            "jax.numpy",
            "log log2 log10 log1p exp exp2 expm1 sqrt square cbrt tanh arctanh sin cos tan arcsin "
            "arccos arctan sinh cosh negative reciprocal transpose flip cumsum cumprod logical_not "
            "deg2rad rad2deg radians degrees",
        ),
        ("jax.nn", "sigmoid softplus softmax tanh log_sigmoid"),
        ("jax.numpy.linalg", "cholesky inv"),
        ("jax.scipy.special", "logit expit"),
        ("jax.lax", "log exp sqrt rsqrt neg square"),
    )
    for name in names.split()
)
_OF_TWO = frozenset(("+", "-", "*", "/", "**"))


def computed_again(fields: dict[str, list[Node]], after: Instance) -> str:
    """A field that comes back as something that was computed from it.

    That is so where a constructor stores the logarithm of what it is given, and the logarithm is
    what it is given the second time. One step is certain to change it; whether several do, which
    may undo one another or have nothing left to do, numbers tell.
    """
    for name, own in fields.items():
        value = after.attributes.get(name)
        if not isinstance(value, Data) or len(own) != 1:
            continue
        step = _only_step(value.node, own[0])
        if step:
            return f"`{name}` comes back after another `{step}`"
        if _changes_again(value, own[0]):
            return f"`{name}` comes back as its constructor computes it from what it was"
    return ""


def _changes_again(value: Data, own: Node) -> bool:
    """Whether what is computed from a field is another number the second time."""
    is_made_of_it = value.node is not own and own in value.node.ancestors()
    if not is_made_of_it or not is_elementwise(value, [own]):
        return False
    import numpy as np

    from ..gradients.computed import Computation, Drawn

    drawn = Drawn(seed=1)
    with np.errstate(all="ignore"):
        once = Computation({own: drawn.numbers(own)}, drawn).of(value)
        twice = None if once is None else Computation({own: once}, drawn).of(value)
    if once is None or twice is None:
        return False
    is_known = np.isfinite(once) & np.isfinite(twice)
    return bool(is_known.any() and not np.allclose(once[is_known], twice[is_known]))


def _only_step(node: Node, own: Node) -> str:
    """The one operation that leads from a field to what it is afterwards."""
    node = _without_forms(node)
    step = node.operation
    if step in _OF_ONE and len(node.inputs) == 1:
        return step.rpartition(".")[2] if _without_forms(node.inputs[0]) is own else ""
    if step in _OF_TWO:
        direct = [it for it in node.inputs if _without_forms(it) is own]
        others = [it for it in node.inputs if _without_forms(it) is not own]
        is_once = len(direct) == 1 and all(own not in it.ancestors() for it in others)
        return step if is_once else ""
    return ""


def _without_forms(node: Node) -> Node:
    while node.operation in _HARMLESS and len(node.inputs) == 1:
        node = node.inputs[0]
    return node
