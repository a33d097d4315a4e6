"""Derivatives written by hand, and where they do not fit their function."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....finding import Place
from ...binding import positional_names
from ...classes import innermost_function
from ...events import Event, Fact
from ...frame import Frame
from ...graph import sources
from ...library.custom_rules import argument_names, nondifferentiable
from ...remember import remembered
from ...shapes.shape import show_shape
from ...values import (
    Bound,
    Constant,
    Data,
    Function,
    Mapping,
    Partial,
    Sequence,
    Transformed,
    Value,
    nodes_of,
)
from ..blame import made_at
from ..forwarding import forwarded, makers

if TYPE_CHECKING:
    from ...facts import SourceFacts

_NAMES = {"fwd": "forward rule", "bwd": "backward rule", "jvp": "rule"}


@dataclass(frozen=True)
class Misfit:
    """A rule that does not fit: where, of which function, and what is wrong with it.

    `returned` is where the rule returns what is wrong.
    """

    place: Place
    function: str
    message: str
    returned: Place | None = None


def misfits(facts: SourceFacts) -> Iterator[Misfit]:
    """All rules that JAX will not accept, as far as that can be read."""
    for fact in facts.events(Fact):
        if fact.kind == "derivative defined":
            yield from _signatures(fact)
        elif fact.kind == "derivative run":
            yield from _results(facts, fact)
        elif fact.kind == "unpacked wrongly":
            yield from _unpacked(fact)


@remembered
def misfitting(facts: SourceFacts) -> frozenset[str]:
    """The functions whose rules raise, of which nothing else needs to be said."""
    return frozenset(it.function for it in misfits(facts))


def _signatures(fact: Fact) -> Iterator[Misfit]:
    """Rules that take another number of arguments than they are given."""
    transformed: Transformed = fact.data["transformed"]
    function = innermost_function(transformed.function)
    if function is None or function.syntax.args.vararg is not None:
        return
    if isinstance(transformed.function, Partial):
        return  # Some of its arguments are given.
    names = argument_names(transformed)
    count, static = len(names), nondifferentiable(transformed, names)
    if static is None:
        return
    for name, rule in transformed.rules.items():
        given = count if name == "fwd" else len(static) + 2
        bound = int(isinstance(rule, Bound))
        own = rule.function if isinstance(rule, Bound) else rule
        if not isinstance(own, Function) or _takes(own, given + bound):
            continue
        what = {
            "fwd": f"the {count} arguments of the function",
            "bwd": f"{_extra(static)}residuals and the cotangent",
            "jvp": f"{_extra(static)}primals and tangents",
        }[name]
        taken = len(positional_names(own)) - bound
        yield Misfit(
            own.frame.place(own.syntax),
            function.name,
            f"its {_NAMES[name]} takes {taken} arguments, and is given {given}: {what}",
        )


def _extra(static: list[int]) -> str:
    return f"{len(static)} of `nondiff_argnums`, " if static else ""


def _takes(function: Function, count: int) -> bool:
    arguments = function.syntax.args
    most = len(positional_names(function))
    least = most - len(function.defaults)
    return arguments.vararg is not None or least <= count <= most


def _results(facts: SourceFacts, fact: Fact) -> Iterator[Misfit]:
    """Rules that return another number of values, or other shapes, than they should."""
    transformed: Transformed = fact.data["transformed"]
    function = innermost_function(transformed.function)
    name = function.name if function is not None else "the function"
    checks = [("fwd", "forward", "a pair: the result and the residuals")]
    checks.append(("jvp", "tangent", "a pair: the result and its tangent"))
    for rule, key, expected in checks:
        value: Value | None = fact.data.get(key)
        if value is not None and _is_no_pair(value):
            place = return_place(facts, transformed.rules[rule])
            message = (
                f"its {_NAMES[rule]} returns {_described(value)}, and has to return {expected}"
            )
            if place is not None:
                yield Misfit(place, name, message)
    for rule, message in _swapped(fact):
        place = return_place(facts, transformed.rules[rule])
        if place is not None:
            yield Misfit(place, name, message)
    backward: Value | None = fact.data.get("backward")
    if backward is not None:
        message, wrong = _cotangents(fact.data["arguments"], backward)
        place = return_place(facts, transformed.rules["bwd"], wrong)
        if place is not None and message:
            frames = _runs_of(facts, transformed.rules["bwd"])
            yield Misfit(place, name, message, frames[0].place(frames[0].returns[0][0]))


def _swapped(fact: Fact) -> Iterator[tuple[str, str]]:
    """Rules that return a pair the other way round."""
    forward, pair = _pair(fact.data.get("forward")), _pair(fact.data.get("tangent"))
    result: Value = fact.data["result"]
    if forward and isinstance(result, Data) and result.is_array:
        first, second = forward
        if isinstance(first, Sequence) and isinstance(second, Data) and second.is_array:
            yield "fwd", "its forward rule returns the residuals first, and then the result"
    if pair:
        tangents = {node for it in fact.data["tangents"] for node in nodes_of(it)}
        first, second = (sources(nodes_of(it)) for it in pair)
        # What is not made from anything is a constant, the derivative of which may be zero.
        if tangents & first and second and not tangents & second:
            yield "jvp", "its rule returns the tangent first, and then the result"


def _pair(value: Value | None) -> list[Value]:
    is_pair = isinstance(value, Sequence) and value.items is not None and len(value.items) == 2
    return list(value.items or ()) if is_pair and isinstance(value, Sequence) else []


def _is_no_pair(value: Value) -> bool:
    if isinstance(value, Sequence):
        return value.kind in ("tuple", "list") and value.items is not None and len(value.items) != 2
    return isinstance(value, Data) and value.is_array and value.node.operation != "join"


def _described(value: Value) -> str:
    if isinstance(value, Sequence) and value.items is not None:
        return f"{len(value.items)} values"
    return "one array"


def _cotangents(arguments: list[Value], backward: Value) -> tuple[str, Value | None]:
    """What is wrong with the cotangents, if anything is, and with which, if it is one of them."""
    expected = len(arguments)
    if isinstance(backward, Data) and backward.is_array and backward.node.operation != "join":
        return (
            f"its backward rule returns one array, and not a tuple of {expected} cotangents",
            None,
        )
    if not isinstance(backward, Sequence) or backward.items is None:
        return "", None
    if len(backward.items) != expected:
        return (
            f"its backward rule returns {len(backward.items)} cotangents for "
            f"{expected} differentiable argument{'' if expected == 1 else 's'}"
        ), None
    for number, (argument, cotangent) in enumerate(zip(arguments, backward.items, strict=True)):
        for path, one, other, wrong in _differing(argument, cotangent):
            return (
                f"its backward rule returns a cotangent of shape {show_shape(other)} for argument "
                f"{number}{path}, whose shape is {show_shape(one)}"
            ), wrong
    return "", None


def _differing(
    argument: Value, cotangent: Value, path: str = ""
) -> Iterator[tuple[str, tuple[int, ...], tuple[int, ...], Value]]:
    """The parts of a tree whose cotangent has another shape: both shapes, and the cotangent."""
    one, other = _shape(argument), _shape(cotangent)
    if one is not None and other is not None:
        if one != other:
            yield path, one, other, cotangent
    elif isinstance(argument, Mapping) and isinstance(cotangent, Mapping):
        for key, item in argument.items.items():
            if key in cotangent.items:
                yield from _differing(item, cotangent.items[key], f"{path}[{key!r}]")
    elif isinstance(argument, Sequence) and isinstance(cotangent, Sequence):
        pairs = zip(argument.items or (), cotangent.items or (), strict=False)
        for number, (item, its) in enumerate(pairs):
            yield from _differing(item, its, f"{path}[{number}]")


def _shape(value: Value) -> tuple[int, ...] | None:
    """A shape in numbers; two with symbols may be the same, whatever they are called."""
    if isinstance(value, Constant):
        return () if isinstance(value.value, float) else None
    shape = value.node.shape if isinstance(value, Data) else None
    if not isinstance(shape, tuple) or not all(isinstance(it, int) for it in shape):
        return None
    return shape


def return_place(facts: SourceFacts, rule: Value, part: Value | None = None) -> Place | None:
    """Where a rule returns what it was last seen to return, or where it makes a part of that."""
    frames = _runs_of(facts, rule)
    for frame in frames:
        node = part.node if isinstance(part, Data) else None
        if node is not None and node.syntax is not None and node.frame is not None:
            place = made_at(facts, frame, Event(node.syntax, node.frame))
            if place is not None:
                return place
    return _returned_at(facts, frames[0]) if frames else None


def _runs_of(facts: SourceFacts, rule: Value) -> list[Frame]:
    """The calls of a rule as JAX makes them, the last one first, that return one thing."""
    function = innermost_function(rule)
    runs = facts.record.runs.get(function.syntax) if function is not None else None
    return [it for it in reversed(runs or ()) if len(it.returns) == 1 and _is_rule(it)]


def _returned_at(facts: SourceFacts, frame: Frame) -> Place | None:
    """Where what a function returns is put together: there, or in one that it alone calls."""
    call = forwarded(frame)
    inner = makers(facts, frame, call) if call is not None else []
    maker = inner[0] if len(inner) == 1 and len(inner[0].returns) == 1 else frame
    return made_at(facts, frame, Event(maker.returns[0][0], maker))


def _is_rule(frame: Frame) -> bool:
    region = frame.region
    return region is not None and any(it.kind == "custom_rule" for it in region.chain())


def _unpacked(fact: Fact) -> Iterator[Misfit]:
    """Residuals, primals or tangents that are unpacked into another number of names."""
    region = fact.frame.region
    owner = region.details.get("rules_of") if region is not None else None
    caller = fact.frame.caller
    if not isinstance(owner, Transformed) or caller is None or caller.function is not None:
        return
    function = innermost_function(owner.function)
    name = function.name if function is not None else "the function"
    value: Value = fact.data["value"]
    if isinstance(value, Sequence):
        message = (
            f"{len(value.items or ())} values are unpacked into {fact.data['targets']} names in "
            "its rule"
        )
    else:
        message = (
            "its rule unpacks what is one of `nondiff_argnums`: these come first, before the "
            "residuals, or primals and tangents"
        )
    yield Misfit(fact.place, name, message)
