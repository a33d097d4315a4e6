"""Derivatives that are written by hand: `defvjp` and `defjvp`, and what their rules return."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..binding import default_of, positional_names
from ..classes import innermost_function
from ..events import Fact
from ..frame import Region
from ..graph import Node
from ..values import Bound, Constant, Data, Sequence, Transformed, Value, mapped
from .registry import handles

if TYPE_CHECKING:
    from ..frame import Site
    from ..machine import Interpreter


@handles("object.defvjp", "object.defjvp")
def _define(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    owner, *rules = args or [Constant(None)]
    if not isinstance(owner, Transformed) or site.is_open:
        return machine.opaque(name, site, (*args, *keywords.values()))
    names = ("fwd", "bwd") if name.endswith("defvjp") else ("jvp",)
    owner.rules.update(zip(names, rules, strict=False))
    owner.rules.update({key: it for key, it in keywords.items() if key in names})
    machine.note(Fact(site.syntax, site.frame, "derivative defined", {"transformed": owner}))
    return rules[0] if rules and names == ("jvp",) else Constant(None)


def argument_names(transformed: Transformed) -> list[str]:
    """The names of what a function with a rule is called with: a method has its object already."""
    function = innermost_function(transformed.function)
    names = positional_names(function) if function is not None else []
    return names[1:] if isinstance(transformed.function, Bound) else names


def nondifferentiable(transformed: Transformed, names: list[str]) -> list[int] | None:
    """The positions of the arguments that a rule gets as they are; `None` if not known."""
    from .options import constants

    found: set[int] = set()
    for option in ("nondiff_argnums", "nondiff_argnames"):
        value = transformed.options.get(option)
        if value is None:
            continue
        given = constants(value)
        if not given and not (isinstance(value, Sequence) and value.items == []):
            return None
        for it in given:
            if isinstance(it, int):
                found.add(it + len(names) if it < 0 else it)
            elif isinstance(it, str) and it in names:
                found.add(names.index(it))
            else:
                return None
    return sorted(found)


def run_rules(
    machine: Interpreter,
    site: Site,
    transformed: Transformed,
    args: list[Value],
    keywords: dict[str, Value],
    result: Value,
    applied: Region,
) -> None:
    """Run the rules of a custom derivative on what its function is called with.

    `applied` is the region in which the function itself has been run.
    """
    region = site.frame.region
    around = region.chain() if region is not None else ()
    if not transformed.rules or any(it.details.get("rules_of") is transformed for it in around):
        return
    function = innermost_function(transformed.function)
    if function is None or function.syntax.args.vararg is not None or site.is_open:
        return
    names = argument_names(transformed)
    given = dict(zip(names, args, strict=False)) | keywords
    values = [given.get(name) or default_of(function, name) for name in names]
    static = nondifferentiable(transformed, names)
    if static is None or any(it is None for it in values):
        return
    place = site.frame.place(transformed.syntax)
    inside = Region("custom_rule", region, place, rules_of=transformed, applied=applied)
    # A rule runs in place of the function, and may draw again what that has drawn.
    used, machine.used = machine.used, {}
    _run(machine, site.inside(inside), transformed, [it for it in values if it], static, result)
    machine.used = used


def _run(
    machine: Interpreter,
    site: Site,
    transformed: Transformed,
    values: list[Value],
    static: list[int],
    result: Value,
) -> None:
    fixed = [values[number] for number in static if number < len(values)]
    moving = [it for number, it in enumerate(values) if number not in static]
    told: dict[str, object] = {"transformed": transformed, "arguments": moving, "result": result}
    rules = transformed.rules
    if "fwd" in rules:
        forward = machine.call(site, rules["fwd"], values, {})
        told["forward"] = forward
        if "bwd" in rules:
            is_pair = isinstance(forward, Sequence) and forward.items and len(forward.items) == 2
            residuals: Value = machine.opaque("residuals", site, (forward,))
            if is_pair and isinstance(forward, Sequence) and forward.items:
                residuals = forward.items[1]
            cotangent = _alike(result, "cotangent", site)
            told["cotangents"] = [cotangent]
            told["backward"] = machine.call(site, rules["bwd"], [*fixed, residuals, cotangent], {})
    if "jvp" in rules:
        tangents = [_alike(it, "tangent", site) for it in moving]
        primals = Sequence("tuple", moving)
        given = [*fixed, primals, Sequence("tuple", tangents)]
        told["tangents"] = tangents
        told["tangent"] = machine.call(site, rules["jvp"], given, {})
    machine.note(Fact(site.syntax, site.frame, "derivative run", told))


def _alike(value: Value, operation: str, site: Site) -> Value:
    """A derivative with respect to a value, or of one: of its structure and shape."""

    def change(leaf: Data) -> Data:
        node = Node(operation, (), site.syntax, site.frame)
        node.shape, node.dtype = leaf.node.shape, leaf.node.dtype
        return Data(node, leaf.traced, leaf.is_array)

    if isinstance(value, Constant):
        return Data(Node(operation, (), site.syntax, site.frame), None, True)
    return mapped(value, change)
