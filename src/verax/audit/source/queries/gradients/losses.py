"""What a differentiated function returns, and what its derivative is given and gives."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ....finding import Place
from ...classes import fields_are_leaves, innermost_function
from ...events import Applied
from ...frame import Frame
from ...library.options import DERIVATIVES
from ...values import Constant, Data, Instance, Mapping, Sequence, Transformed, Value, leaves

if TYPE_CHECKING:
    from ...facts import SourceFacts


def has_auxiliary(transformed: Transformed) -> bool | None:
    """Whether the function returns a pair of a loss and something else; `None` if not known."""
    option = transformed.options.get("has_aux")
    if option is None:
        return False
    return bool(option.value) if isinstance(option, Constant) else None


def is_several(value: Value) -> bool:
    """Whether a result is a container: several values, or none."""
    if isinstance(value, Sequence):
        return value.kind in ("tuple", "list", "generator")
    if isinstance(value, Instance):
        return fields_are_leaves(value.cls) and len(value.attributes) > 1
    return isinstance(value, Mapping)


def differentiated_apart(events: list[Applied]) -> set[Applied]:
    """Derivatives of functions whose derivative is taken, or made, in more than one place.

    What is wrong with all of them is to be mended in the function. So it is where a derivative is
    taken in another function than the one that makes it, and where it is that of a function which
    was handed in: who takes it does not see what it is of.
    """
    by_function: dict[ast.AST, list[Applied]] = {}
    # Where nobody is seen to call a derivative, it is called where it is made.
    for event in (it for it in events if it.syntax is not it.transformed.syntax):
        function = innermost_function(event.transformed.function)
        if function is not None:
            by_function.setdefault(function.syntax, []).append(event)
    return {
        event
        for found in by_function.values()
        for event in found
        if len({(it.transformed.syntax, it.syntax) for it in found}) > 1
        or event.transformed.frame.function is not event.frame.function
        or _is_handed_in(event)
    }


def _is_handed_in(event: Applied) -> bool:
    """Whether what makes a derivative got the function from its caller."""
    scope: Frame | None = event.transformed.frame
    while scope is not None:
        if any(it is event.transformed.function for it in scope.given.values()):
            return True
        scope = scope.outer
    return False


def returned_at(facts: SourceFacts, event: Applied) -> Place | None:
    """Where a differentiated function returns its result."""
    function = innermost_function(event.transformed.function)
    for frame in facts.record.runs.get(function.syntax, ()) if function is not None else ():
        for syntax, value in frame.returns:
            if value is event.result:
                return frame.place(syntax)
    return None


def made_at(event: Applied) -> Place | None:
    """Where the result of a differentiated function comes from."""
    result = event.result
    if isinstance(result, Data):
        return result.node.place
    found = leaves(result)
    return found[0].node.place if found else None


def is_given_openly(event: Applied) -> bool:
    """Whether there may be more arguments than are known: `f(*args)`."""
    syntax = event.syntax
    if isinstance(syntax, ast.Call) and any(isinstance(it, ast.Starred) for it in syntax.args):
        return True
    function = innermost_function(event.transformed.function)
    return function is None or function.syntax.args.vararg is not None


def derivative_in(transformed: Transformed) -> Transformed | None:
    """The derivative that a transformed function is, be it compiled or mapped as well."""
    while transformed.kind in ("jit", "vmap", "pmap", "checkpoint"):
        if not isinstance(transformed.function, Transformed):
            return None
        transformed = transformed.function
    return transformed if transformed.kind in DERIVATIVES else None
