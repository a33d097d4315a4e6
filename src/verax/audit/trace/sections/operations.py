"""What a line does to axes, in words; a primitive that is not in the table is silent."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..describe import axes_of, axis_phrase, listed
from ..facts import Facts
from ..program import Step, Value

Phrase = Callable[[Facts, Step], str]


def phrases(facts: Facts, steps: Iterable[Step]) -> list[str]:
    """What the steps of a line do to axes, each phrase once."""
    found: dict[str, None] = {}
    for step in steps:
        phrase = _PHRASES.get(step.primitive)
        text = phrase(facts, step) if phrase is not None else ""
        if text:
            found[text] = None
    texts = list(found)
    if len(texts) > _MOST + 1:
        return [*texts[:_MOST], f"and {len(texts) - _MOST} more operations of this kind"]
    return texts


_MOST = 6  # that a line says; one that updates a whole tree does the same to every leaf


def _over(verb: str) -> Phrase:
    def phrase(facts: Facts, step: Step) -> str:
        value = step.inputs[0]
        axes = [axis for axis in step.params["axes"] if value.shape[axis] != 1]
        return f"{verb} {axis_phrase(facts, value, axes)}" if axes else ""

    return phrase


def _along(verb: str) -> Phrase:
    def phrase(facts: Facts, step: Step) -> str:
        value = step.inputs[0]
        axis = step.params.get("axis", step.params.get("dimension"))
        return "" if axis is None else f"{verb} {axis_phrase(facts, value, [axis])}"

    return phrase


def _contracts(facts: Facts, step: Step) -> str:
    (left, right), _ = step.params["dimension_numbers"]
    if not left:
        return ""
    one = axis_phrase(facts, step.inputs[0], left)
    other = axis_phrase(facts, step.inputs[1], right)
    return f"contracts {one}" if one == other else f"contracts {one} with {other}"


def _reshapes(facts: Facts, step: Step) -> str:
    old, new = step.inputs[0], step.outputs[0]
    if _without_ones(old.shape) == _without_ones(new.shape):
        return ""
    return f"reshapes {_shape(facts, old)} to {_shape(facts, new)}"


def _transposes(facts: Facts, step: Step) -> str:
    old, new = step.inputs[0], step.outputs[0]
    return f"transposes {_shape(facts, old)} to {_shape(facts, new)}"


def _gathers(facts: Facts, step: Step) -> str:
    numbers = step.params["dimension_numbers"]
    value = step.inputs[0]
    sizes = step.params["slice_sizes"]
    axes = [axis for axis in numbers.start_index_map if sizes[axis] < value.shape[axis]]
    return f"picks elements along {axis_phrase(facts, value, axes)}" if axes else ""


def _scatters(facts: Facts, step: Step) -> str:
    axes = step.params["dimension_numbers"].scatter_dims_to_operand_dims
    return f"writes along {axis_phrase(facts, step.inputs[0], axes)}" if axes else ""


def _collective(verb: str) -> Phrase:
    def phrase(facts: Facts, step: Step) -> str:
        axes = step.params.get("axes", step.params.get("axis_name", ()))
        names = axes if isinstance(axes, (tuple, list)) else (axes,)
        return f"{verb} {listed(str(name) for name in names)}" if names else ""

    return phrase


def _shape(facts: Facts, value: Value) -> str:
    names = axes_of(facts, value)
    return f"({', '.join(n or str(s) for n, s in zip(names, value.shape, strict=True))})"


def _without_ones(shape: tuple[int, ...]) -> list[int]:
    return [size for size in shape if size != 1]


_PHRASES: dict[str, Phrase] = {
    "reduce_sum": _over("sums over"),
    "reduce_prod": _over("multiplies over"),
    "reduce_max": _over("takes the maximum over"),
    "reduce_min": _over("takes the minimum over"),
    "reduce_and": _over("asks for all of"),
    "reduce_or": _over("asks for any of"),
    "argmax": _over("takes the argmax over"),
    "argmin": _over("takes the argmin over"),
    "cumsum": _along("accumulates sums along"),
    "cumprod": _along("accumulates products along"),
    "cummax": _along("accumulates maxima along"),
    "cummin": _along("accumulates minima along"),
    "cumlogsumexp": _along("accumulates along"),
    "sort": _along("sorts along"),
    "concatenate": _along("joins along"),
    "dot_general": _contracts,
    "reshape": _reshapes,
    "transpose": _transposes,
    "gather": _gathers,
    "scatter": _scatters,
    "scatter-add": _scatters,
    "scatter_add": _scatters,
    "psum": _collective("sums over the devices or lanes of"),
    "psum_invariant": _collective("sums over the devices or lanes of"),
    "pmax": _collective("takes the maximum over the devices or lanes of"),
    "pmin": _collective("takes the minimum over the devices or lanes of"),
    "all_gather": _collective("gathers from all devices or lanes of"),
    "ppermute": _collective("exchanges between the devices or lanes of"),
}
