"""The tree of transformations that a file applies."""

from __future__ import annotations

from collections.abc import Iterator

from ...finding import Place
from ...report import Transformation
from ..classes import innermost_function
from ..events import Applied, Fact, Loop
from ..facts import SourceFacts
from ..frame import Region
from ..values import Constant, Sequence, Transformed, Value
from .tensors import readable

# A kind, a place by its file and line, and the name of a function.
_Key = tuple[str, tuple[str, int, int] | None, str]


class _Branch:
    def __init__(self, kind: str, name: str, place: Place | None):
        self.kind = kind
        self.name = name
        self.place = place
        self.settings: tuple[tuple[str, str], ...] = ()
        self.children: dict[_Key, _Branch] = {}

    def keys_below(self) -> Iterator[_Key]:
        """What is nested in it, at any depth."""
        for key, child in self.children.items():
            yield key
            yield from child.keys_below()

    def finished(self) -> Transformation:
        children = tuple(child.finished() for child in self.children.values())
        return Transformation(self.kind, self.name, self.place, self.settings, (), children)


def transformations(facts: SourceFacts) -> tuple[Transformation, ...]:
    """Transformations as they are nested, each place once."""
    top: dict[_Key, _Branch] = {}
    named: dict[Region, tuple[str, tuple[tuple[str, str], ...]]] = {}
    for applied in facts.events(Applied):
        transformed = applied.transformed
        named[applied.region] = (_function_name(transformed.function), _settings(transformed))
    for loop in facts.events(Loop):
        settings = (("length", _shown(loop.length)),) if loop.length is not None else ()
        named[loop.region] = (_function_name(loop.body), settings)
    for fact in facts.events(Fact):
        if fact.kind in ("cond", "switch"):
            named[fact.data["region"]] = ("", ())
    for region, (name, settings) in named.items():
        _place(top, region, name, settings, named)
    inside = {key for branch in top.values() for key in branch.keys_below()}
    return tuple(branch.finished() for key, branch in top.items() if key not in inside)


def _place(
    top: dict[_Key, _Branch],
    region: Region,
    name: str,
    settings: tuple[tuple[str, str], ...],
    named: dict[Region, tuple[str, tuple[tuple[str, str], ...]]],
) -> None:
    level = top
    for around in reversed(list(region.chain())):
        if around.kind in ("loop", "callback"):
            continue
        own, chosen = named.get(around, ("", ()))
        place = around.place
        key = (around.kind, (place.file, place.cell, place.line) if place else None, own)
        branch = level.setdefault(key, _Branch(around.kind, own, around.place))
        branch.settings = chosen or branch.settings
        level = branch.children


def _function_name(value: Value) -> str:
    function = innermost_function(value)
    return function.name if function is not None else ""


def _settings(transformed: Transformed) -> tuple[tuple[str, str], ...]:
    return tuple((name, _shown(value)) for name, value in transformed.options.items())


def _shown(value: Value | None) -> str:
    if isinstance(value, Constant):
        return readable(repr(value.value))
    if isinstance(value, Sequence) and value.items is not None:
        inside = ", ".join(_shown(item) for item in value.items)
        return f"({inside}{',' if len(value.items) == 1 else ''})"
    return "…"
