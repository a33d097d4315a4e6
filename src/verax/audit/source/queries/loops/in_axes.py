"""Whether `in_axes` and `out_axes` fit what is mapped, as far as that is known."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...binding import positional_names
from ...classes import innermost_function
from ...events import Applied, Made
from ...graph import Node
from ...library.options import axes_of
from ...shapes import Dim
from ...shapes.dims import differ, show
from ...values import (
    Bound,
    Constant,
    Data,
    Mapping,
    Partial,
    Sequence,
    Transformed,
    Value,
    leaves,
)
from ..arrays import array_in_words, plain
from ..signatures import cannot_take
from ..training.replicas import not_united
from .maps import applied_maps, mapped_axes

if TYPE_CHECKING:
    from ....finding import Place
    from ...facts import SourceFacts


def misfits(facts: SourceFacts) -> Iterator[tuple[Applied | Made, str]]:
    """Maps that fail: where, and what does not fit."""
    called = {it.transformed.syntax for it in applied_maps(facts) if _is_direct(it)}
    for made in facts.events(Made):
        if made.transformed.kind in ("vmap", "pmap"):
            for reason in _too_many(made.transformed):
                yield made, reason
            for reason in _too_few(made.transformed) if made.syntax not in called else ():
                yield made, reason
        elif made.transformed.kind == "shard_map":
            for reason in _wrong_specs(made.transformed):
                yield made, reason
    for event, leaf in not_united(facts):
        name, axis = facts.name_of(leaf), event.region.axis_name
        said = f"`out_specs` says that all devices have the same `{name}`"
        yield event, f"{said}, and each has its own, made from what is divided over {axis!r}"
    for event in applied_maps(facts):
        if event.transformed.is_filtered:
            for reason in _wrong_count(event) if _is_direct(event) else ():
                yield event, reason
            continue
        reasons = _wrong_calls(facts, event) if _is_direct(event) else iter(())
        for reason in (*reasons, *_wrong_results(event)):
            yield event, reason
            break


def _is_direct(event: Applied) -> bool:
    """Whether the arguments are those of the call that is written there, all of them."""
    syntax = event.syntax
    return (
        isinstance(syntax, ast.Call)
        and syntax is not event.transformed.syntax
        and len(syntax.args) == len(event.args)
        and not any(isinstance(it, ast.Starred) for it in syntax.args)
        and all(it.arg is not None for it in syntax.keywords)
    )


def _too_few(transformed: Transformed) -> Iterator[str]:
    """Fewer entries than what the function has to get; who calls it is not seen."""
    axes = transformed.options.get("in_axes")
    if transformed.is_filtered or not isinstance(axes, Sequence) or axes.items is None:
        return
    count, function = len(axes.items), innermost_function(transformed.function)
    missing = cannot_take(transformed.function, count) or ""
    if function is not None and missing.startswith("also needs") and not function.syntax.args.kwarg:
        yield f"`in_axes` has {count} entries, and `{function.name}` {missing}"


def _too_many(transformed: Transformed) -> Iterator[str]:
    """More entries than the function has parameters."""
    axes, function = transformed.options.get("in_axes"), innermost_function(transformed.function)
    inner = transformed.function
    while isinstance(inner, Transformed):
        inner = inner.function
    if not isinstance(axes, Sequence) or axes.items is None or function is None:
        return
    if function.syntax.args.vararg is not None or isinstance(inner, Partial):
        return
    count = len(positional_names(function)) - isinstance(inner, Bound)
    if (function.cls is None or isinstance(inner, Bound)) and len(axes.items) > count:
        yield f"`in_axes` has {len(axes.items)} entries, and `{function.name}` {count} parameters"


def _wrong_specs(transformed: Transformed) -> Iterator[str]:
    """Another number of entries than the function takes, which gets one argument for each."""
    specs = transformed.options.get("in_specs")
    count = len(specs.items) if isinstance(specs, Sequence) and specs.items is not None else None
    reason = cannot_take(transformed.function, count) if count is not None else None
    if reason is not None:
        yield f"`in_specs` has {count} entries, and the mapped function {reason}"


def _wrong_calls(facts: SourceFacts, event: Applied) -> Iterator[str]:
    wrong = list(_wrong_count(event))
    if wrong:
        yield from wrong
        return
    reason = None if event.keywords else cannot_take(event.transformed.function, len(event.args))
    if reason is not None:
        if not any(_too_many(event.transformed)):  # That is told where the map is made.
            yield f"the mapped function {reason}"
        return
    axes = event.transformed.options.get("in_axes")
    is_told = event.keywords or "axis_size" in event.transformed.options
    if _maps_nothing(axes) and event.args and not is_told:
        yield "`in_axes` maps no argument at all"
    for value, axis in zip(event.args, axes_of(event.transformed, len(event.args)), strict=True):
        yield from _wrong_nesting(value, axis)
        is_static = "static_broadcasted_argnums" in event.transformed.options
        if is_static or not _is_number(value):
            continue
        if isinstance(axis, Constant) and axis.value is not None:
            yield f"{event.transformed.kind} maps axis {axis.value} of a number, which has none"
    yield from _wrong_axes(facts, event)


def _wrong_count(event: Applied) -> Iterator[str]:
    axes = event.transformed.options.get("in_axes")
    count = len(axes.items) if isinstance(axes, Sequence) and axes.items is not None else None
    if count is not None and count != len(event.args):
        yield f"`in_axes` has {count} entries for {len(event.args)} arguments"


def _is_number(value: Value) -> bool:
    number = value.value if isinstance(value, Constant) else None
    return isinstance(number, (int, float, complex)) and not isinstance(number, bool)


def _maps_nothing(axes: Value | None) -> bool:
    if isinstance(axes, Constant):
        return axes.value is None
    if isinstance(axes, Sequence) and axes.items:
        return all(map(_maps_nothing, axes.items))
    return (
        isinstance(axes, Mapping)
        and not axes.is_open
        and all(map(_maps_nothing, axes.items.values()))
    )


def _wrong_nesting(value: Value, axis: Value | None) -> Iterator[str]:
    """Entries that are containers, for arguments that are others."""
    if not isinstance(axis, (Sequence, Mapping)):
        return
    if isinstance(value, Data) and value.is_array:
        yield "`in_axes` has several entries for an argument that is one array"
    elif isinstance(axis, Mapping) and isinstance(value, Mapping):
        if not axis.is_open and not value.is_open and axis.items.keys() != value.items.keys():
            yield (
                f"`in_axes` has entries for {sorted(map(str, axis.items))}, and the argument "
                f"holds {sorted(map(str, value.items))}"
            )
    elif isinstance(axis, Sequence) and isinstance(value, Sequence):
        entries, parts = axis.items, value.items
        if entries is not None and parts is not None and len(entries) != len(parts):
            yield f"`in_axes` has {len(entries)} entries for an argument of {len(parts)} parts"
    elif isinstance(value, (Mapping, Sequence)):
        yield "`in_axes` has another structure than the argument"


def axes_written_at(event: Applied | Made, reason: str) -> Place | None:
    """Where the part of `in_axes` is written that has another structure than its argument."""
    transformed = event.transformed
    args = event.args if isinstance(event, Applied) else []
    for value, axis in zip(args, axes_of(transformed, len(args)), strict=True):
        if not isinstance(axis, (Sequence, Mapping)) or reason not in _wrong_nesting(value, axis):
            continue
        if axis.syntax is not None and axis.made_in is not None:
            return axis.made_in.place(axis.syntax)
    return None


def _wrong_axes(facts: SourceFacts, event: Applied) -> Iterator[str]:
    """Axes that are not there, or not equally long."""
    kind = event.transformed.kind
    sizes: list[tuple[Dim, str]] = []
    for leaf, axis, _ in mapped_axes(event):
        shape = leaf.node.shape
        if not isinstance(shape, tuple) or _may_be_many(leaf.node):
            continue
        text = array_in_words(facts, leaf)
        if not -len(shape) <= axis < len(shape):
            yield f"{kind} maps axis {axis} of {text}, which has no such axis"
            return
        sizes.append((shape[axis], f"axis {axis} of {text} has size {plain(show(shape[axis]))}"))
    for size, text in sizes[1:]:
        if differ(sizes[0][0], size):
            yield f"{kind} maps axes of different sizes: {sizes[0][1]}, {text}"
            return


def _may_be_many(node: Node) -> bool:
    """Whether what is called a key may be an array of them: all but one of the keys of a split."""
    is_child = node.operation == "item" and node.inputs[0].operation == "jax.random.split"
    return node.is_key and not node.shape and not is_child


def _wrong_results(event: Applied) -> Iterator[str]:
    axes = event.transformed.options.get("out_axes")
    if axes is None:
        return
    result = event.result
    if isinstance(axes, Sequence) and axes.items is not None:
        if isinstance(result, Sequence) and result.items is not None:
            if len(axes.items) != len(result.items):
                yield (
                    f"`out_axes` has {len(axes.items)} entries, and the function returns "
                    f"{len(result.items)} values"
                )
                return
            for axis, item in zip(axes.items, result.items, strict=True):
                yield from _lost(event, axis, item)
        elif isinstance(result, Data) and result.is_array:
            yield "`out_axes` has several entries, and the function returns one array"
        return
    yield from _lost(event, axes, result)


def _lost(event: Applied, axis: Value, result: Value) -> Iterator[str]:
    """Results that differ between lanes, and have no place for their axis."""
    if not isinstance(axis, Constant) or axis.value is not None:
        return
    for leaf in leaves(result):
        node = leaf.node
        # What only has the shape of something mapped is the same in every lane.
        by_shape = any(
            it.operation.endswith(("_like", "static", "shape")) for it in node.ancestors()
        )
        if event.region in node.varies and leaf.traced and not by_shape:
            yield "a result that differs from lane to lane is returned with out_axes=None"
            return
