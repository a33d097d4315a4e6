"""Calls of mapped functions: what is mapped along which axis, and what all lanes share."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....finding import Place
from ...axes import names_of
from ...classes import is_static_field
from ...events import Applied, Fact
from ...frame import Frame, Region
from ...library.collectives import names_of_mesh
from ...library.options import axes_of
from ...remember import walked
from ...values import Constant, Data, Instance, Mapping, Sequence, Transformed, Value, leaves
from ..handing import defaults_of, handed_in_at
from ..structures.structure import parts_of
from .bodies import calls

if TYPE_CHECKING:
    from ...facts import SourceFacts


def applied_maps(facts: SourceFacts) -> Iterator[Applied]:
    """Calls of what `vmap` and `pmap` made."""
    for event in facts.events(Applied):
        if event.transformed.kind in ("vmap", "pmap"):
            yield event


def pairs_of(value: Value, axis: Value | None) -> Iterator[tuple[Data, object]]:
    """The data of an argument, each with its entry in `in_axes`; `...` where that is not known."""
    if isinstance(axis, Sequence) and isinstance(value, Sequence):
        axes, items = axis.items or (), value.items or ()
        if axes and len(axes) == len(items):
            for one, other in zip(items, axes, strict=True):
                yield from pairs_of(one, other)
            return
    if isinstance(axis, Mapping) and isinstance(value, Mapping):
        for key, item in value.items.items():
            yield from pairs_of(item, axis.items.get(key))
        return
    if isinstance(axis, Instance) and isinstance(value, Instance) and axis.cls is value.cls:
        for name, part in value.attributes.items():
            if not is_static_field(value.cls, name):
                yield from pairs_of(part, axis.attributes.get(name))
        return
    number = axis.value if isinstance(axis, Constant) else ...
    for leaf in leaves(value):
        yield leaf, number


def mapped_axes(event: Applied) -> Iterator[tuple[Data, int, str]]:
    """The data that is mapped: along which axis, and by which name that is known."""
    args = list(zip(event.args, axes_of(event.transformed, len(event.args)), strict=True))
    for value, axis in (*args, *((it, Constant(0)) for it in event.keywords.values())):
        for leaf, number in pairs_of(value, axis):
            if not isinstance(number, int):
                continue
            names = names_of(leaf.node.shape)
            inside = -len(names) <= number < len(names)
            yield leaf, number, names[number] if inside else ""


def shared_arguments(event: Applied) -> Iterator[Data]:
    """The data that every lane gets whole."""
    for value, axis in zip(event.args, axes_of(event.transformed, len(event.args)), strict=True):
        for leaf, number in pairs_of(value, axis):
            if number is None:
                yield leaf


def is_called_for_real(frame: Frame) -> bool:
    """Whether the program itself makes the call that some code runs in.

    Functions are also run as somebody elsewhere might call them, inside of maps that are not known.
    """
    *_, outermost = frame.callers()
    return outermost is outermost.module.frame


def bound_names(frame: Frame) -> list[str] | None:
    """The names that the maps around some code bind; `None` if there may be more of them."""
    found: list[str] = []
    is_known = is_called_for_real(frame)
    for region in frame.region.chain() if frame.region is not None else ():
        if region.kind == "shard_map":
            names = names_of_mesh(region.details["transformed"].options.get("mesh"))
            if names is None:
                return None
            found.extend(names)
            is_known = True
        if region.kind in ("vmap", "pmap"):
            transformed: Transformed = region.details["transformed"]
            given = transformed.options.get("axis_name")
            if given is not None and not isinstance(given, Constant):
                return None
            if isinstance(region.axis_name, str):
                found.append(region.axis_name)
            # A pmap is outermost.
            is_known = is_known or region.kind == "pmap"
    return found if is_known else None


def misnamed_maps(collectives: list[Fact]) -> Iterator[tuple[Region, str, list[Fact]]]:
    """Maps with a name that nothing inside goes by, while several collectives go by another one.

    One collective may be wrong; several, of which none is right, are given the wrong map. So is
    even one of them, if its map has no name at all, and nothing around it has one.
    """
    inside: dict[Region, list[Fact]] = {}
    for fact in collectives:
        for region in _to_be_named(fact):
            inside.setdefault(region, []).append(fact)
    said: set[object] = set()
    for region, facts in inside.items():
        names = {name for fact in facts for name in fact.data["axes"]}
        syntax = region.details["transformed"].syntax
        is_one = isinstance(region.axis_name, str) and len({named_at(it) for it in facts}) < 2
        if len(names) != 1 or is_one or syntax in said:
            continue
        if all(not names.intersection(bound_names(it.frame) or ()) for it in facts):
            said.add(syntax)
            yield region, names.pop(), facts


def _to_be_named(collective: Fact) -> list[Region]:
    """The maps around a collective that have a name; the innermost one if none has."""
    bound = bound_names(collective.frame)
    region = collective.frame.region
    if bound is None or region is None:
        return []
    around = [it for it in region.chain() if it.kind in ("vmap", "pmap")]
    named = [it for it in around if isinstance(it.axis_name, str)]
    return named if named or bound else around[:1]


def unnamed_at(facts: SourceFacts, collective: Fact) -> Place | None:
    """The call that leaves out the name of an axis, where the default is not to blame for it.

    It is not if the program gives the same parameter a name that is bound, of the function itself
    or of another one: then it knows that the default will not do.
    """
    names = collective.data["axes"]
    for frame, _ in calls(collective):
        for parameter in defaults_of(frame, lambda it: _is_one_of(it, names)):
            if frame.caller is None or frame.called_at is None:
                return None
            is_told = any(_is_told(run, parameter) for run in facts.frames)
            return frame.caller.place(frame.called_at) if is_told else None
    return None


def _is_told(run: Frame, parameter: str) -> bool:
    """Whether a call is given a name for a parameter that a map around it binds."""
    given = run.given.get(parameter)
    if not isinstance(given, Constant) or not isinstance(given.value, str):
        return False
    is_default = parameter in defaults_of(run, lambda it: it is given)
    return not is_default and given.value in (bound_names(run) or ())


def _is_one_of(value: Value, names: list[str]) -> bool:
    return isinstance(value, Constant) and value.value in names


def named_at(collective: Fact) -> Place:
    """Where the axis that a collective goes over is named: there, or by who calls or makes it."""
    names = collective.data["axes"]

    def is_name(value: Value) -> bool:
        return _is_one_of(value, names)

    handed = handed_in_at(collective, is_name)
    if handed != collective.place:
        return handed
    # An object may have been given the name when it was made, or by its class.
    objects = [it for it in collective.frame.given.values() if isinstance(it, Instance)]
    kept = [it for one in objects for it in parts_of(one).values() if is_name(it)]
    written = {it.origin for it in kept if isinstance(it, Constant) and it.origin is not None}
    if len(written) != 1 or any(_is_written(it, names) for it in walked(collective.syntax)):
        return handed
    frame, syntax = written.pop()
    return frame.place(syntax)


def _is_written(syntax: ast.AST, names: list[str]) -> bool:
    """Whether one of some names stands in a piece of syntax."""
    return isinstance(syntax, ast.Constant) and syntax.value in names
