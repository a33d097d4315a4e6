"""Which predictions a loss fits to data, and which come from one model, for both engines."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Protocol, TypeVar

_Value = TypeVar("_Value", bound=Hashable)
_Given = TypeVar("_Given", contravariant=True)
_Error = TypeVar("_Error")


class Same(Protocol[_Given]):
    """Which values are equal."""

    def number(self, value: _Given, /) -> int:
        """The same number for values that are equal."""
        ...

    def are(self, one: _Given, other: _Given, /) -> bool:
        """Whether two values are equal."""
        ...


class Gradients(Protocol[_Value]):
    """The flow of gradients in one differentiated function."""

    @property
    def same(self) -> Same[_Value]:
        """Which of its values are equal."""
        ...

    def is_data(self, value: _Value, /) -> bool:
        """Whether a value depends on more than parameters and constants."""
        ...

    def gets(self, value: _Value, /) -> int:
        """The parameters that get a gradient from a value, as bits of a number."""
        ...

    def slice(self, values: list[_Value], /) -> frozenset[_Value]:
        """All that values are made from along differentiable paths."""
        ...


def fitted_elsewhere(
    flow: Gradients[_Value],
    product: _Value,
    factor: _Value,
    rest: _Value,
    fitted: Iterable[tuple[_Error, _Value, Sequence[_Value]]],
) -> _Error | None:
    """The error that fits what a factor is made from, outside of its product with the rest.

    Each error comes with its square, and with the predictions that it is made of. A factor with
    parameters that these have not is a prediction from them, and not a weight.
    """
    if not flow.gets(factor) or not flow.is_data(factor):
        return None
    within, beside = flow.slice([product]), flow.slice([rest])
    made_from = {flow.same.number(it) for it in flow.slice([factor]) if flow.gets(it)}
    for error, squared, predictions in fitted:
        if squared in within or flow.same.number(squared) in made_from:
            continue
        trained = 0
        for it in predictions:
            if flow.is_data(it) and it not in beside and flow.same.number(it) in made_from:
                trained |= flow.gets(it)
        if trained and not flow.gets(factor) & ~trained:
            return error
    return None


def is_model_elsewhere(
    flow: Gradients[_Value],
    shapes: Same[_Value],
    heads: Iterable[_Value],
    predicted: _Value,
    wanted: _Value,
) -> bool:
    """Whether both come from the same parameters by the same operations, on other data.

    `shapes` tells what is the same computation on parameters, whatever the data. In an entropy, the
    weights are made from the `heads` too, of which the logarithms are taken.
    """
    made_from = {flow.same.number(it) for it in flow.slice([wanted])}
    if any(flow.same.number(it) in made_from for it in heads):
        return False
    one, other = (_by_shape(flow, shapes, it) for it in (predicted, wanted))
    return any(one[it] != other[it] for it in one.keys() & other.keys())


def _by_shape(flow: Gradients[_Value], shapes: Same[_Value], value: _Value) -> dict[int, set[int]]:
    """The different values that each computation on parameters has behind a value."""
    found: dict[int, set[int]] = {}
    for it in flow.slice([value]):
        if flow.gets(it) and flow.is_data(it):
            found.setdefault(shapes.number(it), set()).add(flow.same.number(it))
    return found
