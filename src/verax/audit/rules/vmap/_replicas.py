"""What a named map says of its replicas: what they share, and what can differ between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...trace.facts import Facts
    from ...trace.program import Step, Value

_COLLECTIVES = ("psum", "pmean", "pmax", "pmin", "all_gather", "reduce_scatter", "ppermute")


def named_maps(facts: Facts) -> Iterator[tuple[list[str], Step, list[Step]]]:
    """Maps whose elements may speak to each other: by which names, and where they do."""
    for step in facts.steps:
        names = _axis_names(step)
        if names:
            yield names, step, [it for it in steps_inside(step) if _uses(it, names)]


def _axis_names(step: Step) -> list[str]:
    """The names over which a map or shard_map lets its elements speak to each other."""
    if step.kind == "shard":
        return [str(name) for name in step.detail.mesh]
    if step.kind == "map" and step.detail.axis_name is not None:
        return [str(step.detail.axis_name)]
    return []


def steps_inside(step: Step) -> Iterator[Step]:
    for body in step.bodies:
        yield from body.walk()


def _uses(step: Step, names: list[str]) -> bool:
    if not step.primitive.startswith(_COLLECTIVES):
        return False
    axes: Any = step.params.get("axes", step.params.get("axis_name", ()))
    used = axes if isinstance(axes, (tuple, list)) else (axes,)
    return any(str(axis) in names for axis in used)


def shared_by(step: Step) -> set[Value]:
    """Arguments that every replica gets whole."""
    if step.kind == "map":
        return set(step.detail.broadcast)
    return {outer for outer, inner, _ in step.detail.inputs if outer is inner}


def differing(step: Step, collectives: set[Step]) -> set[Value]:
    """Values that can differ from one replica to the next."""
    from ...trace.variation import edges

    if step.kind == "map":
        found = {inner for _, inner, _ in step.detail.mapped}
    else:
        found = {inner for outer, inner, _ in step.detail.inputs if outer is not inner}
    # Steps come in the order of the program; loops inside may hand values back, hence twice.
    for _ in range(2):
        for inner in steps_inside(step):
            if inner in collectives:
                continue
            for source, target, _ in edges(inner):
                if source in found:
                    found.add(target)
    return found


def is_mean(collective: Step) -> bool:
    """Whether a collective sum is a mean: divided at once, by the number of replicas.

    Integers become floats before. One step may sum several values (until JAX 0.9, all of a tree).
    """
    used = [it for it in collective.outputs if it.consumers]
    return (
        collective.primitive.startswith("psum")
        and bool(used)
        and all(_is_divided(it, collective) for it in used)
    )


def _is_divided(value: Value, collective: Step) -> bool:
    return bool(value.consumers) and all(
        it.call_site == collective.call_site
        and (
            it.primitive == "div"
            or (it.primitive == "convert_element_type" and _is_divided(it.outputs[0], collective))
        )
        for it in value.consumers
    )
