"""Cross-entropies whose wanted distribution is itself a prediction, moved by data."""

from __future__ import annotations

from collections.abc import Iterator

from ....predictions import is_model_elsewhere
from ...graph import Node
from ...values import Constant, Data
from ..arrays import origin
from .bootstraps import Bootstrap, shapes_of
from .flows import Flow
from .loss_terms import Error, Term, multiplied, terms

_SOFTMAX, _LOG_SOFTMAX = "jax.nn.softmax", "jax.nn.log_softmax"
_LOGARITHMS = frozenset(("jax.nn.log_softmax", "jax.nn.log_sigmoid", "jax.numpy.log"))
# Functions of logits and of the probabilities that these are to have.
_ENTROPIES = frozenset(
    f"optax.{module}{name}"
    for module in ("", "losses.")
    for name in ("softmax_cross_entropy", "sigmoid_binary_cross_entropy")
)


def soft_bootstraps(flow: Flow) -> Iterator[Bootstrap]:
    """Sums `wanted * log(predicted)` in which what is wanted has a gradient of the same model."""
    shapes = shapes_of(flow)
    for node in flow.order:
        if node not in flow.trained_through or not flow.gets(node):
            continue
        for predicted, wanted in _sides(flow, node):
            if not flow.gets(predicted) or not flow.gets(wanted):
                continue
            moved = _moved_by_data(flow, wanted) or _sharpened(flow, predicted, wanted)
            if moved is None:
                continue
            if is_model_elsewhere(flow, shapes, _heads(flow, predicted), predicted, wanted):
                yield Bootstrap(Error([], node, node), predicted, moved, False)
                break


def _sides(flow: Flow, node: Node) -> Iterator[tuple[Node, Node]]:
    """Pairs of what is predicted and what is wanted."""
    call = flow.context.calls.get(node)
    if call is not None and call.name in _ENTROPIES and len(call.args) >= 2:
        logits, wanted = call.args[:2]
        if isinstance(logits, Data) and isinstance(wanted, Data):
            yield logits.node, wanted.node
    factors = multiplied(node)
    for one, other in (factors, factors[::-1]) if factors is not None else ():
        parts = [it.node for it in terms(flow, [Term(one, 1)]) if flow.gets(it.node)]
        if parts and all(it.operation in _LOGARITHMS for it in parts):
            yield one, other


def _moved_by_data(flow: Flow, wanted: Node) -> Node | None:
    """The prediction in what is wanted, if data has part in that: a reward, say."""
    start = [Term(wanted, 1)]
    parts = terms(flow, start, is_whole=lambda it: _times_data(flow, it) is not None)
    found = (_times_data(flow, it.node) for it in parts)
    return next((it for it in found if it is not None), None)


def _times_data(flow: Flow, node: Node) -> Node | None:
    """The factor with a gradient, if the other one is data."""
    factors = multiplied(node)
    for one, other in (factors, factors[::-1]) if factors is not None else ():
        if flow.gets(one) and one in flow.data and not flow.uses(other) and other in flow.data:
            return one
    return None


def _sharpened(flow: Flow, predicted: Node, wanted: Node) -> Node | None:
    """What is wanted, if it is a softmax with another temperature than what is predicted.

    Of two predictions that are to agree, the sharper one teaches the other.
    """
    logs = [it.node for it in terms(flow, [Term(predicted, 1)]) if flow.gets(it.node)]
    one = {_temperature(flow, it) for it in logs if it.operation == _LOG_SOFTMAX}
    other = _temperature(flow, wanted) if wanted.operation == _SOFTMAX else None
    return wanted if other is not None and len(one) == 1 and one.isdisjoint((other, None)) else None


def _temperature(flow: Flow, softmax: Node) -> float | None:
    """The number by which the logits of a softmax are divided."""
    logits = origin(softmax.inputs[0]) if softmax.inputs else None
    if logits is None or logits.operation not in ("*", "/") or len(logits.operands) != 2:
        return None if logits is None or not flow.gets(logits) else 1.0
    numbers = [it.value for it in logits.operands if isinstance(it, Constant)]
    number = numbers[0] if numbers and isinstance(numbers[0], (int, float)) else None
    if not number:
        return None
    return float(number if logits.operation == "/" else 1 / number)


def _heads(flow: Flow, predicted: Node) -> list[Node]:
    """What the logarithms are taken of: in an entropy, the weights are made from it too."""
    parts = [it.node for it in terms(flow, [Term(predicted, 1)]) if flow.gets(it.node)]
    return [it for node in parts for it in node.inputs if flow.gets(it)]
