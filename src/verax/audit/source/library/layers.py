"""Layers of networks, as far as they say what shape they take and give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..events import Call, Fact
from ..graph import Node
from ..shapes import Dim, Mismatch, Partial, Shape, Size
from ..shapes.dims import differ, product, show
from ..shapes.shape import least_rank, show_shape, size_of
from ..shaping import does_not_fit
from ..values import Constant, Data, External, Function, Mapping, Sequence, Value
from .cells import CELLS, CELLS_OF_PAIRS
from .collectives import binding
from .linen import own_parameters
from .registry import handles_method
from .results import learn_applied

if TYPE_CHECKING:
    from ..frame import Site
    from ..machine import Interpreter

# The sizes that a layer is made with: what is given at a position, or by a name.
_Argument = tuple[int, str]


@dataclass(frozen=True)
class _Layer:
    """What is known of a kind of layer.

    `takes` and `gives` are the sizes of the axis `axis`, before and after; `rank` is how many axes
    it takes, if it does not take more than those of one example.
    """

    change: Callable[[Shape, int, Dim], Shape]
    takes: _Argument | None = None
    gives: _Argument | None = None
    rank: int | None = None
    axis: int = -1


def _mapped(shape: Shape, axis: int, size: Dim) -> Shape:
    """The last axis has another size."""
    if isinstance(shape, tuple) and shape:
        return (*shape[:-1], size)
    if isinstance(shape, Partial) and shape.trail:
        return Partial(shape.lead, (*shape.trail[:-1], size))
    return Partial((), (size,)) if size is not None else None


def _kept(shape: Shape, axis: int, size: Dim) -> Shape:
    return shape


def _looked_up(shape: Shape, axis: int, size: Dim) -> Shape:
    """Each index has become a vector."""
    if isinstance(shape, tuple):
        return (*shape, size)
    lead, trail = (shape.lead, shape.trail) if shape is not None else ((), ())
    return Partial(lead, (*trail, size)) if lead or size is not None else None


def _convolved(shape: Shape, axis: int, size: Dim) -> Shape:
    """The axis of the channels has another size, those of space have any, the others stay."""
    if not isinstance(shape, tuple) or not shape:
        return Partial((), (size,)) if axis == -1 and size is not None else None
    if axis == 0:
        return (size, *(None for _ in shape[1:]))
    kept = shape[:1] if len(shape) > 2 else ()
    return (*kept, *(None for _ in shape[len(kept) : -1]), size)


def _flattened(shape: Shape, axis: int, size: Dim) -> Shape:
    """All axes but the first are one; but some more, if so many are to be kept."""
    count = 1 if size is None else size
    if not isinstance(shape, tuple) or not isinstance(count, int) or count < 0:
        return None
    return shape if len(shape) <= count else (*shape[:count], product(shape[count:]))


def _other(shape: Shape, axis: int, size: Dim) -> Shape:
    """Nothing is known of the shape, but that it is an array that is made from the given one."""
    return None


def _hidden(shape: Shape, axis: int, size: Dim) -> Shape:
    """The new state of a cell."""
    return (size,)


_LAYERS = {
    "flax.linen.Dense": _Layer(_mapped, None, (0, "features")),
    "flax.linen.Embed": _Layer(_looked_up, None, (1, "features")),
    "flax.linen.Conv": _Layer(_convolved, None, (0, "features")),
    "flax.nnx.Linear": _Layer(_mapped, (0, "in_features"), (1, "out_features")),
    "flax.nnx.Embed": _Layer(_looked_up, None, (1, "features")),
    "flax.nnx.Conv": _Layer(_convolved, (0, "in_features"), (1, "out_features")),
    "flax.nnx.LayerNorm": _Layer(_kept, (0, "num_features")),
    "flax.nnx.RMSNorm": _Layer(_kept, (0, "num_features")),
    "flax.nnx.BatchNorm": _Layer(_kept, (0, "num_features")),
    "equinox.nn.Linear": _Layer(_mapped, (0, "in_features"), (1, "out_features"), rank=1),
    "equinox.nn.MLP": _Layer(_mapped, (0, "in_size"), (1, "out_size"), rank=1),
    "equinox.nn.Embedding": _Layer(_looked_up, None, (1, "embedding_size"), rank=0),
    "equinox.nn.Conv1d": _Layer(_convolved, (0, "in_channels"), (1, "out_channels"), 2, 0),
    "equinox.nn.Conv2d": _Layer(_convolved, (0, "in_channels"), (1, "out_channels"), 3, 0),
    "equinox.nn.GRUCell": _Layer(_hidden, (0, "input_size"), (1, "hidden_size"), rank=1),
    "haiku.Linear": _Layer(_mapped, None, (0, "output_size")),
    "haiku.nets.MLP": _Layer(_mapped, None, (0, "output_sizes")),
    "haiku.Flatten": _Layer(_flattened, None, (0, "preserve_dims")),
    "haiku.Embed": _Layer(_looked_up, None, (1, "embed_dim")),
    "haiku.Conv2D": _Layer(_convolved, None, (0, "output_channels")),
    **dict.fromkeys(
        (
            *(f"flax.linen.{it}" for it in ("LayerNorm", "RMSNorm", "GroupNorm", "BatchNorm")),
            *(f"{it}.Dropout" for it in ("flax.linen", "flax.nnx", "equinox.nn")),
            *(f"equinox.nn.{it}" for it in ("LayerNorm", "RMSNorm", "GroupNorm")),
            *(f"haiku.{it}" for it in ("LayerNorm", "RMSNorm", "GroupNorm", "BatchNorm")),
        ),
        _Layer(_kept),
    ),
    **dict.fromkeys(
        (
            *(
                f"flax.linen.{it}"
                for it in ("ConvTranspose", "DenseGeneral", "ConvLocal", "Einsum")
            ),
            *(f"flax.nnx.{it}" for it in ("ConvTranspose", "LinearGeneral", "GroupNorm")),
            *(f"equinox.nn.ConvTranspose{it}d" for it in (1, 2, 3)),
            *(f"equinox.nn.{kind}Pool{it}d" for kind in ("Max", "Avg") for it in (1, 2)),
            *(f"haiku.{it}" for it in ("Conv1D", "Conv2DTranspose", "MultiHeadAttention")),
        ),
        _Layer(_other),
    ),
    # Attention gives as many vectors as there are queries, of a size that may be another.
    **dict.fromkeys(
        (
            *(f"flax.linen.MultiHead{it}Attention" for it in ("", "DotProduct")),
            "flax.linen.SelfAttention",
            "flax.nnx.MultiHeadAttention",
            "equinox.nn.MultiheadAttention",
        ),
        _Layer(_mapped),
    ),
}
# Their sizes may be the word "scalar", for no axis at all.
_MAY_BE_SCALAR = frozenset(("equinox.nn.Linear", "equinox.nn.MLP"))
# They give several axes of features, of which nothing is known here.
_GENERAL = (".DenseGeneral", ".LinearGeneral", ".Einsum")
# Layers that apply others in turn, which are given as a list, or each as an argument.
_CHAINS = frozenset(
    (
        "equinox.nn.Lambda",
        *(f"{it}.Sequential" for it in ("flax.linen", "flax.nnx", "equinox.nn", "haiku")),
    )
)
_MANY = 32
# What stands for a layer inside of a loop or a transformation.
_COPIES = frozenset(("turn", "primal", "lane", "carry", "copy", "stack", "equinox.apply_updates"))


# Layers that unite what they see over a named axis: its name, and what is true if they do not.
_UNITING = {
    "flax.linen.BatchNorm": ((10, "axis_name"), "use_running_average"),
    "equinox.nn.BatchNorm": ((1, "axis_name"), "inference"),
}


def is_layer(value: Value) -> bool:
    """Whether something is a layer, of which it is known what it does."""
    return isinstance(value, Data) and (value.type in _LAYERS.keys() | _CHAINS | CELLS)


def is_linear(operation: str) -> bool:
    """Whether something is made by a layer that gives another number of features."""
    known = _LAYERS.get(operation)
    if known is None or known.change is _flattened:
        return False
    return known.gives is not None or operation.endswith(_GENERAL)


def keeps_examples(operation: str) -> bool:
    """Whether something is made by a layer of the last axes, that leaves the others as they are."""
    known = _LAYERS.get(operation)
    return known is not None and known.change in (_mapped, _kept, _flattened, _looked_up)


def only_computes(operation: str) -> bool:
    """Whether something is made by a layer that keeps nothing of what it is given."""
    return operation in _LAYERS and not operation.endswith(".BatchNorm")


def applied(
    machine: Interpreter, site: Site, layer: Data, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """What calling something gives that was made outside of the project."""
    operands = (layer, *args, *keywords.values(), *own_parameters(machine, site, layer))
    _note_axis(machine, site, layer, keywords)
    links = _links(layer) if len(args) == 1 else []
    if links:
        return _through(machine, site, links, args[0])
    if layer.type not in _LAYERS or not args:
        name = layer.type if layer.type in CELLS else "call"
        result = machine.opaque(name, site, operands)
        learn_applied(result, layer.type, (*args, *keywords.values()))
        return _states(machine, site, result) if layer.type in CELLS_OF_PAIRS else result
    result = machine.array(layer.type, site, operands)
    _describe(machine, site, layer, args[0], result)
    final = _argument(_made(layer.node), (5, "final_activation"))
    if layer.type == "equinox.nn.MLP" and isinstance(final, (Function, External)):
        return machine.call(site, final, [result], {})
    return result


def _states(machine: Interpreter, site: Site, result: Data) -> Sequence:
    """The two arrays that a cell gives for the two that it has remembered."""
    both = (
        result.node.child("item", ("constant", number), site.syntax, site.frame)
        for number in range(2)
    )
    return machine.tuple_of(*(Data(it, result.traced, True) for it in both))


def _note_axis(machine: Interpreter, site: Site, layer: Data, keywords: dict[str, Value]) -> None:
    """Note the named axis over which a layer certainly takes its statistics."""
    if layer.type not in _UNITING:
        return
    name, unless = _UNITING[layer.type]
    node = _made(layer.node)
    made = node.operands[1].items if len(node.operands) == 2 else {}  # type: ignore[attr-defined]
    given = keywords.get(unless, made.get(unless))
    is_training = isinstance(given, Constant) and given.value is False
    is_training = is_training or (given is None and layer.type.startswith("equinox."))
    axis = _given(node, name)
    if is_training and isinstance(axis, str):
        over = frozenset(binding(site.frame.region, [axis]))
        data = {"name": "layer", "axes": [axis], "value": None, "result": layer, "over": over}
        machine.note(Fact(site.syntax, site.frame, "collective", data))


def _links(layer: Data) -> list[Value]:
    """The layers that one applies in turn, if all of them are known."""
    node = _made(layer.node)
    if layer.type not in _CHAINS or len(node.operands) != 2:
        return []
    args = node.operands[0]
    given = args.items or [] if isinstance(args, Sequence) else []
    if len(given) == 1 and isinstance(given[0], Sequence):
        given = given[0].items or []
    return given if len(given) <= _MANY else []


def _through(machine: Interpreter, site: Site, links: list[Value], given: Value) -> Value:
    for link in links:
        given = machine.call(site, link, [given], {})
    return given


@handles_method("apply", of="flax.linen.Dense")
def _apply(
    machine: Interpreter, site: Site, layer: Data, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """`layer.apply(variables, x)`, of a layer that is no part of a module."""
    if len(args) != 2 or keywords:
        result = machine.opaque(".apply", site, (layer, *args, *keywords.values()))
    else:
        result = machine.array(layer.type, site, (layer, *args))
        _describe(machine, site, layer, args[1], result)
    name = f"{layer.type}.apply"
    machine.note(Call(site.syntax, site.frame, name, [layer, *args], keywords, result))
    return result


@handles_method("apply", of="flax.linen.Sequential")
def _apply_chain(
    machine: Interpreter, site: Site, chain: Data, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """The same of a chain: what its layers give goes through the functions at its end."""
    result: Value = machine.opaque(".apply", site, (chain, *args, *keywords.values()))
    name = f"{chain.type}.apply"
    machine.note(Call(site.syntax, site.frame, name, [chain, *args], keywords, result))
    links = _links(chain)
    plain = [at for at, it in enumerate(links) if not isinstance(it, (Function, External))]
    if len(args) != 2 or keywords or not plain:
        return result
    last = links[plain[-1]]
    if is_layer(last) and isinstance(last, Data):
        result = machine.array(last.type, site, (chain, *args))
        _describe(machine, site, last, Constant(None), result)
    return _through(machine, site, links[plain[-1] + 1 :], result)


def keep_size(layer: Data, args: list[Value], keywords: dict[str, Value]) -> None:
    """Note the sizes that a layer is made with, where it is one."""
    if is_layer(layer) or layer.type in _UNITING:
        layer.node.operands = (Sequence("tuple", args), Mapping(keywords))


def _describe(machine: Interpreter, site: Site, layer: Data, given: Value, result: Data) -> None:
    """The shape of what a layer gives; that it takes another one than it is given."""
    if not isinstance(given, Data):
        return
    known, shape = _LAYERS[layer.type], given.node.shape
    node = _made(layer.node)
    takes, gives = _given(node, known.takes), _given(node, known.gives)
    if layer.type in _MAY_BE_SCALAR and not node.operands:
        return  # Where nobody knows how it was made, it may give no axis.
    if "scalar" in (takes, gives):
        # Equinox has layers without that axis.
        result.node.shape = () if gives == "scalar" else (_as_size(gives),)
        return
    try:
        _check(known, shape, _as_size(takes), layer.type)
    except Mismatch as error:
        does_not_fit(machine, site, error, [given])
        return
    if known.rank is not None and not isinstance(shape, tuple):
        shape = (None,) * known.rank
    result.node.shape = known.change(shape, known.axis, _as_size(gives))


def _check(known: _Layer, shape: Shape, takes: Dim, kind: str) -> None:
    name = kind.rpartition(".")[2]
    if known.rank is not None:
        has = len(shape) if isinstance(shape, tuple) else None
        if (has is not None and has != known.rank) or least_rank(shape) > known.rank:
            one = ("one index", "one vector")[known.rank] if known.rank < 2 else "one example"
            raise Mismatch(f"`{name}` takes {one}, and is given {show_shape(shape)}")
    size = size_of(shape, known.axis)
    if size is not None and takes is not None and differ(size, takes):
        raise Mismatch(f"`{name}` takes {show(takes)} features, and is given {show(size)}")


def _made(node: Node) -> Node:
    """The layer as it was made."""
    while node.operation in _COPIES and node.inputs:
        node = node.inputs[0]
    return node


def _given(node: Node, which: _Argument | None) -> object:
    """The constant that a layer is made with at some place, if it is one."""
    value = _argument(node, which) if which is not None else None
    if isinstance(value, Sequence) and value.items:
        value = value.items[-1]  # Of several layers the last one gives the result.
    return value.value if isinstance(value, Constant) else None


def _argument(node: Node, which: _Argument) -> Value | None:
    """What a layer is made with at some place."""
    if len(node.operands) != 2:
        return None
    args, keywords = node.operands
    assert isinstance(args, Sequence)
    assert isinstance(keywords, Mapping)
    position, name = which
    given = args.items or []
    return keywords.items.get(name, given[position] if position < len(given) else None)


def _as_size(value: object) -> Dim:
    return value if isinstance(value, (int, Size)) else None
