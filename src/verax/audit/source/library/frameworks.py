"""What is known of flax, equinox, optax, haiku and chex."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..graph import Node, variation
from ..shapes.shape import change_axis
from ..shaping import of_operator, of_rows
from ..values import (
    Constant,
    Data,
    External,
    Instance,
    Mapping,
    Sequence,
    Value,
    leaves,
    mapped,
    nodes_of,
)
from .registry import handles

if TYPE_CHECKING:
    from ..frame import Site
    from ..machine import Interpreter


@handles("equinox.is_array", "equinox.is_inexact_array", "equinox.is_array_like")
def _question(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    return machine.opaque(name, site, (), traced=False)


@handles("flax.linen.compact", "flax.linen.nowrap", "haiku.transparent")
def _same(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    return args[0] if args else External("verax.identity")


@handles("dataclasses.field", "flax.struct.field", "equinox.field", "flax.struct.static_field")
def _field(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """A field of a class is its default, as far as its objects are concerned."""
    default = keywords.get("default")
    return machine.opaque("call", site, args, type=name) if default is None else default


@handles("flax.nnx.split")
def _split(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """Of `graph, state = nnx.split(model)` the state stands for the model until both meet again."""
    if not args or not isinstance(args[0], Instance) or keywords or site.is_open:
        return machine.opaque("call", site, (*args, *keywords.values()), type=name)
    graph = machine.opaque(name, site, args[:1])
    if len(args) == 1:
        return machine.tuple_of(graph, args[0])
    machine.record.split_models[graph.node] = args[0]
    states = [machine.opaque("state", site, args[:1]) for _ in args[1:]]
    return machine.tuple_of(graph, *states)


@handles("flax.nnx.merge")
def _merge(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """The model whose parts these are."""
    whole = [it for it in args if isinstance(it, Instance)]
    if len(whole) == 1:
        return whole[0]
    graph = args[0] if args else None
    split = machine.record.split_models.get(graph.node) if isinstance(graph, Data) else None
    if split is not None:
        states = [node for it in args[1:] for node in nodes_of(it)]
        traced = any(it.traced for state in args[1:] for it in leaves(state)) or None
        return mapped(split, lambda leaf: _merged(site, leaf, states, traced))
    return machine.opaque("call", site, (*args, *keywords.values()), type=name)


def _merged(site: Site, leaf: Data, states: list[Node], traced: bool | None) -> Data:
    """A part of a model as it is after a merge, which the states have something to say of."""
    inputs = (leaf.node, *states)
    node = Node("merged", inputs, site.syntax, site.frame, variation(inputs))
    node.shape, node.dtype = leaf.node.shape, leaf.node.dtype
    return Data(node, traced, leaf.is_array, leaf.type)


# What losses call what is predicted, and what it should be.
_PREDICTIONS = ("predictions", "logits", "log_predictions", "predictor_outputs")
_TARGETS = ("targets", "labels")
_LOSSES = (
    "l2_loss squared_error huber_loss log_cosh absolute_error sigmoid_binary_cross_entropy "
    "hinge_loss perceptron_loss poly_loss_cross_entropy smooth_labels sigmoid_focal_loss"
).split()


def _compared(args: list[Value], keywords: dict[str, Value]) -> list[Value]:
    """What a loss compares with what, as far as it is given."""
    operands = args[:2]
    for names in (_PREDICTIONS, _TARGETS)[len(operands) :]:
        operands += [keywords[it] for it in names if it in keywords][:1]
    return operands


@handles(*(f"optax.{it}" for it in _LOSSES), *(f"optax.losses.{it}" for it in _LOSSES))
def _loss(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """A loss for each element of predictions and targets."""
    result = machine.array(name, site, (*args, *keywords.values()))
    operands = _compared(args, keywords)
    if len(operands) > 1:
        of_operator(machine, site, "-", operands[0], operands[1], result)
    return result


_LOSSES_OF_VECTORS = (
    "softmax_cross_entropy softmax_cross_entropy_with_integer_labels "
    "safe_softmax_cross_entropy kl_divergence kl_divergence_with_log_targets cosine_similarity "
    "cosine_distance"
).split()


@handles(
    *(f"optax.{it}" for it in _LOSSES_OF_VECTORS),
    *(f"optax.losses.{it}" for it in _LOSSES_OF_VECTORS),
)
def _loss_of_vectors(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """A loss for each vector of predictions: the last axis is gone."""
    result = machine.array(name, site, (*args, *keywords.values()))
    vectors, labels = (*_compared(args, keywords), None, None)[:2]
    if isinstance(vectors, Data) and "axis" not in keywords and len(args) < 3:
        shape = vectors.node.shape
        result.node.shape = change_axis(shape, -1, lambda _: ()) if shape else None
        result.node.dtype = vectors.node.dtype
        if isinstance(labels, Data):
            of_rows(machine, site, vectors, labels, result, name.endswith("_integer_labels"))
    return result


@handles("optax.global_norm", "optax.tree_utils.tree_norm", "optax.tree_utils.tree_l2_norm")
def _norm_of_tree(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    return machine.array(name, site, (*args, *keywords.values()), shape=())


@handles("optax.apply_updates", "equinox.apply_updates")
def _apply_updates(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """New parameters, of the structure of the old ones."""
    first = args[0] if args else keywords.get("params", Constant(None))
    updates = [node for value in (*args[1:], *keywords.values()) for node in nodes_of(value)]

    def change(leaf: Data) -> Data:
        inputs = (leaf.node, *updates[:16])
        node = Node(name, inputs, site.syntax, site.frame, variation(inputs))
        node.shape, node.dtype = leaf.node.shape, leaf.node.dtype
        return Data(node, leaf.traced, leaf.is_array, leaf.type)

    if isinstance(first, (Data, Sequence, Mapping, Instance)):
        return mapped(first, change)
    return machine.opaque(name, site, (*args, *keywords.values()))
